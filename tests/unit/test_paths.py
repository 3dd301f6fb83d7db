"""Names and places that no file can have are refused in one sentence, before anything is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from marsyard.errors import InputError
from marsyard.library import read_yaml
from marsyard.operations.editor.writing import check_target
from marsyard.operations.teleop.records import check_folder
from marsyard.run_folder import written_whole


def _stage(path: Path) -> None:
    with written_whole(path):
        pass


@pytest.mark.parametrize(
    "use", [read_yaml, check_folder, _stage, lambda p: check_target(p, overwrite=True)]
)
def test_a_name_with_a_nul_character(use, tmp_path):
    with pytest.raises(InputError, match=r"'.*a\\x00b.yaml' contains a NUL character"):
        use(tmp_path / "a\0b.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_refused_before_the_editor_begins(tmp_path):
    made = tmp_path / "new" / "folder" / "x.yaml"
    assert check_target(made, overwrite=False) == made
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written .a part of the path is a file"):
        check_target(tmp_path / "file" / "x.yaml", overwrite=False)
    if Path("/proc/self").exists():
        with pytest.raises(InputError, match="'/proc/x.yaml' cannot be written"):
            check_target(Path("/proc/x.yaml"), overwrite=False)
    if os.getuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(InputError, match="cannot be written"):
            check_target(tmp_path / "x.yaml", overwrite=False)
