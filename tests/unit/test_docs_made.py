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

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: pages of the laws, and of what they act through
LAW_PAGES = {
    "nonsmooth": "friction-contact", "compliant": "compliant-contact",
    "polygonal": "polygonal-contact", "scm": "soil-contact", "columns": "soil-columns",
    "wong_reece": "wheel-models/wong-reece", "ishigami": "wheel-models/ishigami",
    "ding": "wheel-models/ding", "magic_formula": "wheel-models/magic-formula",
    "rigid_slip": "wheel-models/rigid-slip",
}  # fmt: skip
MORE_PAGES = ("moreau-jean", "tracks")


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


def test_every_law_is_in_the_table_that_helps_to_choose():
    text = text_of("choosing.md").partition("## Law of contact")[0]
    for law in LAWS.keys() - {"as_is"}:
        assert text.count(f"`{law}`") >= 2, f"{law}: its row, and its cost"


@pytest.mark.parametrize("page", [*LAW_PAGES.values(), *MORE_PAGES])
def test_page_of_a_law_has_all_its_parts(page):
    text = text_of(f"physics/{page}.md")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    for part in ("Symbols", "Assumptions", "When to use it", "Sources"):
        assert any(heading.startswith(part) for heading in headings), part
    assert "$$" in text, "no equation"
    assert "![" in text, "no figure"


def test_every_law_has_a_page():
    assert LAWS.keys() - {"as_is", "mujoco"} == LAW_PAGES.keys()


def test_pages_name_scenarios_that_exist():
    groups = {name.split("/")[0] for name in library.names("scenarios")}
    known = set(library.names("scenarios"))
    for page in DOCS.rglob("*.md"):
        for name in re.findall(r"marsyard run ([a-z0-9]+/[a-z0-9-]+)", page.read_text("utf-8")):
            assert name.split("/")[0] not in groups or name in known, f"{page.name}: {name}"
