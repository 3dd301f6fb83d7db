"""Pages and pictures that scripts make are up to date; pages of laws have all their parts."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from marsyard import library
from marsyard.comparison import LAWS
from marsyard.interaction import about

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: pages of the laws
LAW_PAGES = {
    name: each.page for kind in about.KINDS for name, each in about.laws(kind).items() if each.page
}
#: pages about no law: an index, a library, names, and a model of one scenario
NO_LAW = ("wheel-models", "soils", "conventions", "docking")
#: what each of the others must have: what an expert asks before trusting an equation
PARTS = ("Symbols", "Assumptions", "When to use it", "Validity and cost", "Sources")
PHYSICS = sorted(
    page.relative_to(DOCS / "physics").with_suffix("").as_posix()
    for page in (DOCS / "physics").rglob("*.md")
    if page.stem not in NO_LAW
)


@pytest.fixture
def script(monkeypatch):
    """A script of docs/ by name, its names as attributes."""
    monkeypatch.syspath_prepend(str(DOCS))
    return lambda name: SimpleNamespace(**runpy.run_path(str(DOCS / f"{name}.py")))


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_example_is_in_the_gallery():
    text = text_of("gallery.md")
    for path in (ROOT / "examples").glob("*.py"):
        assert f"python examples/{path.name}" in text, "run python docs/make_gallery.py"


def test_gallery_is_up_to_date(script):
    gallery = script("make_gallery")
    assert gallery.stale() == [], "run python docs/make_gallery.py"
    assert text_of("gallery.md") == gallery.page(), "run python docs/make_gallery.py --page"
    left = {p.stem for p in gallery.PICTURES.glob("*.png")} - {one.name for one in gallery.shown()}
    assert not left, "pictures of nothing"


def test_baselines_are_those_measured(script):
    made, text = script("make_baselines"), text_of("how-to/learn.md")
    kept = json.loads(text_of("baselines.json"))
    assert kept.keys() == made.BY_HAND.keys()
    assert made.page(text, kept) == text, "run python docs/make_baselines.py --page"
    for task, rows in kept.items():
        assert list(rows) == list(made.policies(task, 0)), f"run make_baselines.py {task}"


def test_overview_of_the_validation_is_up_to_date(script):
    made = script("make_validation")
    assert made.stale() == [], "run python docs/make_validation.py"
    assert text_of("validation-overview.md") == made.page()


def test_overview_hides_nothing(script):
    made = script("make_validation")
    data = json.loads(text_of("validation-data.json"))
    text = text_of("validation-overview.md")
    rows = [row for name in made.scenarios() for row in data[name]["rows"]]
    assert text.count("| yes |") == sum(row["ok"] for row in rows)
    assert text.count("| **no** |") == sum(not row["ok"] for row in rows)
    for which in made.SETS:
        for law in made.LAWS:
            assert len(data[f"{which} {law}"]["rows"]) == len(data[f"{which} ding"]["rows"])


def test_overview_leaves_nothing_out_without_a_reason(script):
    made = script("make_validation")
    text = text_of("validation-overview.md")
    for name, why in made.LEFT_OUT.items():
        assert name in library.names("scenarios") and f"`{name}`, {why}" in text
    data = made.kept()
    assert all(data[name]["rows"] for name in made.scenarios()), "a table without a row"
    for name in library.names("scenarios"):
        said = library.path_of("scenarios", name).read_text(encoding="utf-8")
        if "expected:" in said and name.split("/")[0] not in made.AIMS:
            assert name in text, f"{name} has checks and is not on the page"


def test_measured_values_are_those_of_the_files(script):
    made = script("make_validation")
    if not made.wt.there():
        pytest.skip("reference data are not beside this checkout")
    data = made.kept()
    for which in made.SETS:
        now = [row["measured"] for row in made.measured(which)]
        assert now == [row["measured"] for row in data[f"{which} scm"]["rows"]]


def test_stamps_follow_what_is_used(script, monkeypatch):
    stamps = script("stamps")
    assert {"soil/wheel", "single_wheel_rig"} <= stamps.used("run soil/wheel").keys()
    before = stamps.stamp("run soil/wheel")
    changed = dict(stamps.entries(), single_wheel_rig="another")
    monkeypatch.setitem(stamps.stamp.__globals__, "entries", lambda: changed)
    assert stamps.stamp("run soil/wheel") != before


def test_benchmarks_and_costs_are_those_kept(script):
    made = script("make_benchmarks")
    assert text_of("benchmarks.md") == made.page(), "run python docs/make_benchmarks.py"
    assert text_of("choosing.md") == made.choosing(), "run python docs/make_benchmarks.py"
    for path, text in made.pages_of_laws().items():
        assert path.read_text(encoding="utf-8") == text, "run python docs/make_benchmarks.py"


def test_every_law_is_in_the_table_that_helps_to_choose():
    text = text_of("choosing.md").partition("## Law of contact")[0]
    for law in LAWS.keys() - {"as_is"}:
        assert text.count(f"`{law}`") >= 2, f"{law}: its row, and its cost"


def sections(page: str) -> dict[str, str]:
    """Text under each heading of a page of docs/physics."""
    parts = re.split(r"^## (.*)$", text_of(f"physics/{page}.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def section(page: str, part: str) -> str:
    found = [text for heading, text in sections(page).items() if heading.startswith(part)]
    assert found, f"physics/{page}.md has no section '{part}'"
    return found[0]


@pytest.mark.parametrize("page", PHYSICS)
def test_page_of_physics_has_all_its_parts(page):
    for part in PARTS:
        assert section(page, part).strip(), part
    text = text_of(f"physics/{page}.md")
    assert "$$" in text, "no equation"
    assert "![" in text, "no figure"
    # equations are set as such, not as code
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not re.findall(r"\n\n    \S.* = .*", outside), "an equation in a block of code"


@pytest.mark.parametrize("page", PHYSICS)
def test_symbols_have_units(page):
    rows = re.findall(r"^\|(.*)\|$", section(page, "Symbols"), re.MULTILINE)
    assert rows and [c.strip() for c in rows[0].split("|")][:2] == ["symbol", "unit"]
    said = [re.split(r"(?<!\\)\|", row)[1].strip() for row in rows[2:]]
    assert sum(bool(unit) for unit in said) >= 0.6 * len(said), "most symbols have a unit"


@pytest.mark.parametrize("page", PHYSICS)
def test_validity_and_cost_are_said(page):
    text = section(page, "Validity and cost")
    assert "**Valid**" in text and "**Cost**" in text
    assert re.search(r"\d", text), "no number"


@pytest.mark.parametrize("page", PHYSICS)
def test_sources_are_named(page):
    assert re.search(r"(19|20)\d\d|numbers are the user's", section(page, "Sources"))


def test_pages_that_follow_a_paper_say_its_equations():
    for page in ("closed-loops", "kinetostatics", "soil-columns", "wheel-models/ding",
                 "moreau-jean"):  # fmt: skip
        assert re.search(r"eqs?\. \(\d+\)", section(page, "Sources")), page
    assert r"\tag{3}" in text_of("physics/soil-contact.md")  # Krenn and Hirzinger's numbers
    assert r"\tag{1}" in text_of("physics/polygonal-contact.md")


def test_every_law_has_a_page():
    assert LAWS.keys() - {"as_is", "mujoco"} == LAW_PAGES.keys()
    for law, page in LAW_PAGES.items():
        assert page in PHYSICS
        assert f"<!-- cost: {law} -->" in section(page, "Validity and cost"), law


def test_pages_name_scenarios_that_exist():
    groups = {name.split("/")[0] for name in library.names("scenarios")}
    known = set(library.names("scenarios"))
    for page in DOCS.rglob("*.md"):
        for name in re.findall(r"marsyard run ([a-z0-9]+/[a-z0-9-]+)", page.read_text("utf-8")):
            assert name.split("/")[0] not in groups or name in known, f"{page.name}: {name}"
