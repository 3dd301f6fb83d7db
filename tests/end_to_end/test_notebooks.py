"""Every notebook that is shipped runs from its first cell to its last, and keeps no output."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks_and_the_documentation_names_each():
    page = (ROOT / "docs" / "how-to" / "notebooks.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 3
    for path in NOTEBOOKS:
        assert f"examples/notebooks/{path.name}" in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    book = nbformat.read(path, 4)
    client = NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()  # a cell that fails raises
    shown = [out for cell in book.cells for out in cell.get("outputs", ())]
    assert sum(out.output_type in ("execute_result", "display_data") for out in shown) >= 3
    pictures = [out for out in shown if "image/png" in out.get("data", {})]
    assert pictures
    # it leaves nothing where it is opened
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_tidy(path):
    book = nbformat.read(path, 4)
    nbformat.validate(book)
    first = book.cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")
    for cell in book.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
    for cell in book.cells:
        for target in _links(cell.source) if cell.cell_type == "markdown" else ():
            assert (path.parent / target).exists(), target


def _links(text: str) -> list[str]:
    return [part.split(")")[0] for part in text.split("](")[1:] if not part.startswith("http")]
