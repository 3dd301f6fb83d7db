"""What the site adds to Sphinx: plain docstrings as markup, equations as MathML."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree

SITE = Path(__file__).parents[2] / "docs" / "_site"
DOCSTRINGS = SimpleNamespace(**runpy.run_path(str(SITE / "docstrings.py")))
EQUATIONS = SimpleNamespace(**runpy.run_path(str(SITE / "equations.py")))


def read(text: str) -> nodes.document:
    """The docstring as Sphinx would see it; anything that docutils complains of is an error."""
    return publish_doctree(
        "\n".join(DOCSTRINGS.to_rst(text.split("\n"))), settings_overrides={"halt_level": 2}
    )


def test_no_sign_of_an_equation_is_taken_for_markup():
    text = "F* = |J_y|·v_ and `out`; see x_1_, *all, **both, <this> and a \\ too."
    tree = read(text)
    assert tree.astext() == text.replace("`", "")
    assert [n.astext() for n in tree.findall(nodes.literal)] == ["out"]
    assert not list(tree.findall(nodes.emphasis))


def test_what_is_indented_stays_as_it_is():
    tree = read("Text.\n\n    a = 1\n    b  =  2\n\n    more\n\nEnd.")
    (block,) = tree.findall(nodes.literal_block)
    assert block.astext() == "a = 1\nb  =  2\n\nmore"


def test_columns_stay_columns():
    tree = read("base         a rover\nuncertainty  what is not known")
    (block,) = tree.findall(nodes.literal_block)
    assert block.astext().count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "Fit.\n\nArgs:\n    soil: a soil,\n        or its name.\n    free: others.",
        "Fit.\n\nsoil: a soil,\n    or its name.\nfree: others.",
    ],
)
def test_arguments_become_a_list(text):
    entries = [n.astext() for n in read(text).findall(nodes.list_item)]
    assert entries == ["soil: a soil, or its name.", "free: others."]


def test_names_lead_to_where_they_are_documented():
    lines = DOCSTRINGS.to_rst(["Gives a `Run`."], {"Run": "marsyard.Run"}.get)
    assert r":py:obj:`Run <marsyard.Run>`" in lines[0]


@pytest.mark.parametrize(
    ("tex", "part"),
    [
        (r"\big( a \big)", "<mo"),
        (r"\theta = \tfrac12", "</mfrac>"),
        (r"45°", "∘"),
        (r"p = k z^n \tag{3}", "<msup>"),
        (r"\bar W", "¯"),
    ],
)
def test_equations_as_github_reads_them(tex, part):
    made = EQUATIONS.mathml(nodes.math_block("", tex), as_block=True)
    assert made.startswith("<math")
    assert part in made
    assert "tag" not in made


def test_an_equation_that_is_not_understood_is_a_warning(monkeypatch):
    heard = []
    log = EQUATIONS.mathml.__globals__["log"]
    monkeypatch.setattr(log, "warning", lambda text, *args, **more: heard.append(text % args))
    made = EQUATIONS.mathml(nodes.math("", r"\nonsense{x}"), as_block=False)
    assert made.startswith("<code>")
    assert len(heard) == 1 and "nonsense" in heard[0]
