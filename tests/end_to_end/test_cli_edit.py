"""`marsyard edit` on the command line: what it refuses, in one sentence with exit code 2."""

from __future__ import annotations

import numpy as np
import pytest
from command import run_here

MISTAKES = [
    (["rt0448/test-99"], "unknown scenario 'rt0448/test-99'; did you mean"),
    (["none.yaml"], "none.yaml: no such file"),
    (["--ground", "none.tif"], "elevation map: 'none.tif' does not exist"),
    (["--ground", "flt"], "unknown ground 'flt'; did you mean 'flat'"),
    (["--ground", "holes.npy"], "spacing: holes.npy does not define the spacing of its points"),
    (["--ground", "holes.npz"], "1 of 30 points have no height"),
    (["--rover", "exomras"], "did you mean 'exomars'"),
    (["--out", "there.yaml"], "'there.yaml' already exists"),
    (["--out", "mine.txt"], "must end with .yaml"),
    (["--port", "99999"], "port 99999 is not between 0 and 65535"),
    (["--token", "short", "--port", "0"], "--token: must be 8 to 128"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_mistakes(arguments, said, tmp_path):
    z = np.zeros((5, 6))
    z[2, 2] = np.nan
    np.save(tmp_path / "holes.npy", z)
    np.savez(tmp_path / "holes.npz", x=np.arange(6.0), y=np.arange(5.0), z=z)
    (tmp_path / "there.yaml").write_text("", encoding="utf-8")
    files = sorted(p.name for p in tmp_path.iterdir())
    done = run_here(["edit", *arguments], tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ") and said in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == files
