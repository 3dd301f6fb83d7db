"""The documentation site is built without a warning, has no dead link, and needs no network."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import marsyard

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHECKS = runpy.run_path(str(DOCS / "check_site.py"))
CONTENTS = runpy.run_path(str(DOCS / "_site" / "contents.py"))
SPHINX = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-c", str(DOCS)]
#: packages that are no interface for users
INSIDE = ("marsyard.cli", "marsyard.operations.validation.report")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [*SPHINX, "-d", str(out / "cache"), str(ROOT), str(out / "site")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "site"


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site):
    assert CHECKS["problems"](site) == []


def test_every_page_is_there_with_its_navigation(site):
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(ROOT).with_suffix(".html")
        assert (site / name).is_file(), name
    text = (site / "docs" / "tutorial.html").read_text(encoding="utf-8")
    for caption in ("How to drive", "Physics", "Reference"):
        assert f'<span class="caption-text">{caption}</span>' in text


def test_equations_are_mathml_and_need_no_script(site):
    pages = [p.read_text(encoding="utf-8") for p in (site / "docs" / "physics").glob("*.html")]
    assert sum(page.count("<math ") for page in pages) > 150
    assert not any(re.search(r"<script[^>]*mathjax", page, re.IGNORECASE) for page in pages)


def test_every_public_name_is_in_the_reference(site):
    text = "".join(p.read_text(encoding="utf-8") for p in (site / "docs" / "api").glob("*.html"))
    for name in marsyard.__all__:
        assert f'id="marsyard.{name}"' in text, name


def test_every_package_with_public_names_has_its_place():
    pages = "".join(p.read_text(encoding="utf-8") for p in (DOCS / "api").glob("*.md"))
    named = re.findall(r"^\.\. api:: ([\w.]+)", pages, re.MULTILINE)
    assert len(named) == len(set(named))
    for found in pkgutil.walk_packages(marsyard.__path__, "marsyard."):
        if found.ispkg and found.name not in INSIDE:
            if hasattr(importlib.import_module(found.name), "__all__"):
                assert found.name in named, f"{found.name} is on no page of docs/api"


def test_the_search_finds_words_of_the_pages(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    words = json.loads(re.sub(r"^Search\.setIndex\((.*)\)$", r"\1", index))["terms"]
    assert "sinkag" in words or "sinkage" in words


def test_contents_come_from_the_index_page():
    text = (
        "# T\n- [A](a.md): x\n\n## How to\n- [b](how-to/b.md)\n- [c](c.md#d)\n\nend [e](../E.md).\n"
    )
    assert CONTENTS["groups"](text) == {"Start": ["a.md"], "How to": ["how-to/b.md", "../E.md"]}


def test_faults_of_a_site_are_found(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="top">B</h1>', encoding="utf-8")
    (tmp_path / "a.html").write_text(
        '<a href="b.html#top">fine</a><a href="b.html#low">x</a><a href="c.html">y</a>'
        '<a href="https://example.org/">fine</a><script src="https://example.org/a.js"></script>',
        encoding="utf-8",
    )
    (tmp_path / "a.css").write_text("@import '//example.org/font.css'; a { b: url(c.png) }")
    found = CHECKS["problems"](tmp_path)
    assert len(found) == 4
    for part in ("b.html#low: no such", "c.html, which", "a.js from", "font.css from"):
        assert sum(part in line for line in found) == 1
