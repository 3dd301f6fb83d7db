"""Notebooks: what objects look like in them, and one that is executed as a whole."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import marsyard
from marsyard.ground import load_soil
from marsyard.robot import load_robot

CELLS = (
    "import marsyard\nrun = marsyard.run('rt0448/test-1', duration=0.3)\nrun",
    "marsyard.load_scenario('rt0448/test-1')",
    "from marsyard.robot import load_robot\nload_robot('exomars')",
    "from marsyard.ground import load_soil\nload_soil('lunar_nominal')",
    "run.to_dataframe().iloc[-1:, :3]",
    "run.show()",
)


class _Closed(HTMLParser):
    """Checks that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def shown():
    """HTML of each cell of an executed notebook."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    out = []
    for cell in book.cells:
        data = [o["data"] for o in cell.outputs if o["output_type"] == "execute_result"]
        out.append(data[0]["text/html"])
    return out


def test_every_cell_shows_html(shown):
    run, scenario, robot, soil, frame, page = shown
    for text in (run, scenario, robot, soil, page):
        _Closed(text)
    assert "0.3 s" in run and ".to_dataframe()" in run
    assert "exomars_rt0448" in scenario and "nonsmooth" in scenario
    assert "FLWheel_y" in robot and "0.1425" in robot
    assert "cohesion" in soil and "Pa" in soil
    assert "position_base.x" in frame
    assert page.startswith("<iframe srcdoc=")


def test_the_page_in_3d_holds_the_run(tmp_path):
    run = marsyard.run("rt0448/test-1", duration=0.3)
    page = run.show().save(tmp_path / "run.html").read_text(encoding="utf-8")
    text = re.search(r'id="replay-data">(.*?)</script>', page, re.DOTALL).group(1)
    data = json.loads(text.replace("<\\/", "</"))
    packed = data["base"]
    numbers = np.frombuffer(base64.b64decode(packed["data"]), dtype="<u2")
    base = packed["offset"] + packed["scale"] * numbers.reshape(-1, 3)
    expected = run.data["position_base"].values[[0, -1]]
    np.testing.assert_allclose(base[[0, -1]], expected, atol=1e-4)
    assert "http" not in page.replace("http-equiv", "")  # nothing is loaded


def test_texts_cannot_break_a_page():
    scenario = marsyard.load_scenario("rt0448/test-1")
    spiked = scenario.model_copy(update={"title": "<script>x</script>", "description": "a < b"})
    assert "<script>" not in spiked._repr_html_() and "a &lt; b" in spiked._repr_html_()
    _Closed(load_robot("sojourner")._repr_html_())
    _Closed(load_soil("dry_sand")._repr_html_())
