"""`marsyard movie` from a run to files that play, and what it says when it can't."""

from __future__ import annotations

import av
import numpy as np
import pytest
from command import ONE_FIGURE, run_here
from PIL import Image

from marsyard.results.movie import graphics


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("movie")
    done = run_here(["run", "rt0448/test-1", "-q", "-s", "run.duration=1 s", "-s", ONE_FIGURE,
                     "-o", "run"], folder)  # fmt: skip
    assert (folder / "run" / "results.nc").exists(), done.stderr
    return folder / "run"


def _frames(path):
    with av.open(str(path)) as file:
        return [f.to_ndarray(format="rgb24") for f in file.decode(video=0)]


def test_a_run_is_filmed(run):
    done = run_here(
        ["movie", "run", "--gif", "--size", "320x180", "--fps", "10", "--camera", "orbit"],
        run.parent,
    )
    assert done.returncode == 0, done.stderr
    assert "1.1 s at 1 times real time, 11 frames of 320x180" in done.stdout
    frames = _frames(run / "movie.mp4")
    assert len(frames) == 11 and frames[0].shape == (180, 320, 3)
    # the camera goes round: pictures differ
    assert np.abs(frames[0].astype(int) - frames[5]).mean() > 3
    with Image.open(run / "movie.gif") as gif:
        assert gif.n_frames == 11 and gif.size == (320, 180)


def test_part_of_a_run_slowly_with_a_close_up(run, tmp_path):
    done = run_here(
        ["movie", run, "-o", "out/wheel.mp4", "--size", "320x180", "--camera", "wheel",
         "--wheel", "FL", "--start", "0.2s", "--end", "300ms", "--speed", "0.5", "--fps", "20"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(_frames(tmp_path / "out" / "wheel.mp4")) == 5


def test_a_still_picture(run, tmp_path):
    done = run_here(
        ["movie", run, "--frame", "0.5", "-o", "a.png", "--size", "480p", "--caption", "Landing"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (854, 480)
        assert np.asarray(picture).std() > 20


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--camera", "orbiter"], "orbit"),
        (["--camera", "wheel", "--wheel", "XX"], "FL"),
        (["--size", "321x180"], "even"),
        (["--start", "3"], "within the run"),
        (["--frame", "9", "-o", "a.png"], "from 0 to 1 s"),
        (["--out", "a.avi"], ".mp4"),
        (["--distance", "3 kg"], "--distance"),
        (["--speed", "0"], "above 0"),
    ],
)
def test_wrong_input_is_one_sentence_and_leaves_nothing(run, tmp_path, options, word):
    done = run_here(["movie", run, "-o", "a.mp4", *options], tmp_path)
    assert done.returncode == 2
    assert word in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_no_run(tmp_path):
    done = run_here(["movie", "nowhere"], tmp_path)
    assert done.returncode == 2 and "nowhere" in done.stderr
    assert not list(tmp_path.iterdir())


def test_without_graphics_it_says_what_to_install(run, tmp_path, monkeypatch):
    # glfw needs a screen
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    graphics.platform.cache_clear()
    try:
        done = run_here(["movie", run, "-o", "a.mp4"], tmp_path)
    finally:
        graphics.platform.cache_clear()
    assert done.returncode == 2
    assert "apt-get install libegl1 libgl1-mesa-dri" in done.stderr
    assert not list(tmp_path.iterdir())
