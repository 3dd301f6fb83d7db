"""The documentation keeps up with the code: reference, links, commands, public names."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

import marsyard
from marsyard.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
COMMAND = re.compile(r"^\s*marsyard ([a-z]+)", re.MULTILINE)
INLINE = re.compile(r"`marsyard ([a-z]+)")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _anchors(page: Path) -> set[str]:
    """Anchors as GitHub makes them of headings: lower case, punctuation dropped, spaces dashed."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_scenario_reference_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))
    pages = {"scenario-reference": "page", "study-reference": "study_page", "choosing": "choosing"}
    for name, page in ((name, made[function]) for name, function in pages.items()):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert text == page(), "run python docs/make_reference.py"


@pytest.mark.parametrize("page", ["scenario-reference", "study-reference"])
def test_every_key_is_explained(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    empty = re.findall(r"^\| `(\w+)` \|.*\|\s*\|$", text, re.MULTILINE)
    assert not empty, "keys without a meaning: give their fields a description"


def test_page_of_the_modules_is_up_to_date():
    page = ROOT / "docs" / "modules.md"
    made = runpy.run_path(str(ROOT / "docs" / "make_modules.py"))["page"]()
    assert page.read_text(encoding="utf-8") == made, "run python docs/make_modules.py"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{_name(page)} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in _anchors(there), f"{_name(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_exist(page):
    known = {c.name for c in (*app.registered_commands, *app.registered_groups)}
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(BLOCK.findall(text))
    for said in COMMAND.findall(blocks) + INLINE.findall(text):
        assert said in known, f"{_name(page)} names 'marsyard {said}'"


def lines_of_commands(text: str) -> list[list[str]]:
    """Words of every command that a page shows in a block, comments left off."""
    lines = "\n".join(BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in re.split(r"&&|;(?= )|\|", line)]
    return [shlex.split(p, comments=True)[1:] for p in parts if p.startswith("marsyard ")]


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words call, and the words after its name."""
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_options_of_commands_exist(page):
    for words in lines_of_commands(page.read_text(encoding="utf-8")):
        command, rest = command_of(words)
        known = {"--help", "-h"} | {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
        for word in rest:
            if re.match(r"--?[a-z]", word):
                option = word.partition("=")[0]
                assert option in known, f"{_name(page)}: marsyard {' '.join(words)}"


def names_of(tree: ast.AST) -> set[str]:
    """Full names of marsyard that a program imports or calls through the package."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "marsyard":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.split(".")[0] == "marsyard"}
        elif isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            if re.fullmatch(r"marsyard(\.\w+)+", text):
                found.add(text)
    return found


def exists(name: str) -> bool:
    """Whether a module, or a name in one, is there."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_names_in_python_exist(page):
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if "->" in block and "def " not in block:
            continue  # signatures, not a program
        for name in names_of(ast.parse(block)):
            assert exists(name), f"{_name(page)} names {name}"


def test_pages_agree_about_the_drawbar_pull():
    # the tutorial's number is compared with a run in tests/end_to_end/test_tutorial.py
    from marsyard.library import path_of

    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    pull = re.search(r"the limit of this soil, (\d+) N", tutorial)
    row = re.search(r"^ all .*? ([\d.]+) +1152", tutorial, re.MULTILINE)
    assert pull and row and round(float(row[1])) == int(pull[1])
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    scenario = path_of("scenarios", "exomars/drawbar-pull").read_text(encoding="utf-8")
    assert f"({pull[1]} N in the last minute here)" in page
    assert f"in the last minute {pull[1]} N on 1 cm" in scenario
    by_grid = re.search(r"is (\d+) N on a grid of 2 cm, (\d+) N on 1 cm and (\d+) N on 0.5", page)
    assert by_grid and by_grid[2] == pull[1]
    assert f"{by_grid[1]} N on 2 cm and {by_grid[3]} N on\n  0.5 cm" in scenario


def test_scenarios_named_in_the_readme_exist():
    from marsyard import library

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"rt0448/[\w-]+", text)):
        assert name in library.names("scenarios")


def test_every_public_name_is_in_the_api_page():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in marsyard.__all__:
        assert f"marsyard.{name}" in text, name


def test_scenarios_of_the_api_page_load():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "load_scenario(" in b]
    assert blocks
    for block in blocks:
        exec(block, {"marsyard": marsyard})


def test_every_variable_of_the_results_is_in_the_conventions():
    source = (ROOT / "marsyard" / "simulation" / "recorder.py").read_text(encoding="utf-8")
    recorded = re.findall(r'add\(\s*"(\w+)"', source)
    assert len(recorded) > 15
    text = (ROOT / "docs" / "physics" / "conventions.md").read_text(encoding="utf-8")
    for name in recorded:
        assert f"`{name}`" in text, name


def test_every_robot_has_its_picture():
    made = runpy.run_path(str(ROOT / "docs" / "make_robot_frames.py"))["page"]()
    page = ROOT / "docs" / "robots.md"
    assert page.read_text(encoding="utf-8") == made, "run python docs/make_robot_frames.py"


def test_no_picture_is_large():
    for ending, most in (("png", 300_000), ("gif", 900_000)):
        for picture in (ROOT / "docs" / "images").rglob(f"*.{ending}"):
            assert picture.stat().st_size < most, picture.name


def test_readme_is_short_and_counts_what_is_there():
    from marsyard import library

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    counted = re.search(r"(\d+) scenarios, (\d+) robots and (\d+) soils", text)
    assert counted
    kinds = ("scenarios", "rovers", "soils")
    assert [int(n) for n in counted.groups()] == [len(library.names(kind)) for kind in kinds]


def test_readme_says_what_the_pages_of_numbers_say():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    overview = (ROOT / "docs" / "validation-overview.md").read_text(encoding="utf-8")
    numbers = re.search(r"(\d+) published or exact numbers, (\d+) measured points", text)
    assert numbers
    assert f"{numbers[1]} published or exact numbers in" in overview
    assert f"{numbers[2]} measured values of wheels" in overview
    # root mean square of the pull of scm by the load, as the wheels' sections give it
    errors = []
    wheels = (
        "Ding 2011, smooth",
        "Ishigami 2005, smooth, 4° to 16°",
        "Ding 2011, lugs of 10 mm",
        "Pavlov, smooth, 0° to 75° (not their soil)",
    )
    for wheel in wheels:
        row = next(r for r in overview.splitlines() if r.startswith(f"| {wheel} | `scm` | pull"))
        rms = float(row.split("|")[6])
        load = re.search(rf"### {re.escape(wheel)}\n\nradius .*?, ([\d.]+) N,", overview)
        assert load
        errors.append(round(100 * rms / float(load[1])))
    said = re.search(r"off by (\d+), (\d+) and (\d+) % .* by (\d+) % for", text)
    assert said and [int(n) for n in said.groups()] == errors
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    speed = re.search(r"\| (\d+) times real time, six wheels", text)
    measured = re.search(r"\| speed against real time, 2 cm \| ([\d.]+)", benchmarks)
    assert speed and measured and int(speed[1]) == round(float(measured[1]))
