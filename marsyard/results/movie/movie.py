"""A movie or a still picture of a run: take, camera, stage, overlay and files put together."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.results.movie.camera import View, preset_named, views
from marsyard.results.movie.encode import check_target, open_writer, write_picture
from marsyard.results.movie.graphics import check_size, is_software, platform
from marsyard.results.movie.overlay import Legend, Overlay
from marsyard.results.movie.stage import Stage
from marsyard.results.movie.take import Take, open_take
from marsyard.results.replay import run_folder

#: size [pixels] and rate [1/s] of movies, and of those that are drawn without a graphics card
SIZE, RATE = (1280, 720), 25.0
SIZE_IN_SOFTWARE, RATE_IN_SOFTWARE = (854, 480), 12.5
LONGEST = 20.0  # of a movie whose speed is not given [s]
MOST_FRAMES = 20_000
COLOURS = ("change", "soil")
#: a usual force is drawn that long, in radii of the robot
USUAL_ARROW = 0.45
_SPEEDS = (1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Shot:
    """Camera and output settings of a movie.

    Attributes:
        camera: follow, fixed, orbit, wheel, side, top or front; wheel: which one is close-up;
            body: of the robot, that is looked at instead of the whole.
        azimuth: of looking, against the robot's heading [rad]; elevation [rad], negative looks
            down; distance [m]; None takes the preset's.
        size: width and height of the pictures [pixels], both even; by default `SIZE`, of a movie
            that is drawn without a graphics card `SIZE_IN_SOFTWARE`.
        forces: draw arrows; force_scale: their length [m/N], None chooses one.
        colour: of soft ground, by its change of height or by soil.
        caption: a line of text below the title; the scenario's name without.
    """

    camera: str = "follow"
    wheel: str | None = None
    body: str | None = None
    azimuth: float | None = None
    elevation: float | None = None
    distance: float | None = None
    size: tuple[int, int] | None = None
    forces: bool = True
    force_scale: float | None = None
    colour: str = "change"
    caption: str = ""

    def check(self) -> None:
        """Raise an InputError for invalid settings."""
        preset_named(self.camera)
        if self.size is not None:
            check_size(self.size)
        if self.wheel is not None and self.camera != "wheel":
            raise InputError("wheel: needs camera wheel; give --camera wheel")
        if self.body is not None and self.camera == "wheel":
            raise InputError("body: needs a camera other than wheel")
        if self.colour not in COLOURS:
            raise InputError(
                f"colour: '{self.colour}' is not a known colouring; {suggest(self.colour, COLOURS)}"
            )
        for name, value in (("distance", self.distance), ("force_scale", self.force_scale)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} = {value:g}: must be above 0")
        if self.elevation is not None and not abs(self.elevation) < math.pi / 2:
            raise InputError("elevation: must be between -90 and 90 deg")


@dataclass(frozen=True)
class Movie:
    """What was written: files, number of frames, their rate [1/s] and size [pixels], and speed in
    times real time."""

    files: tuple[Path, ...]
    frames: int
    rate: float
    speed: float
    size: tuple[int, int] = (0, 0)

    @property
    def duration(self) -> float:
        """How long it lasts [s]."""
        return self.frames / self.rate


def write_movie(
    run: str | Path,
    shot: Shot | None = None,
    out: str | Path | None = None,
    *,
    gif: bool = False,
    rate: float | None = None,
    speed: float | None = None,
    start: float | None = None,
    end: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], Any] | None = None,
) -> Movie:
    """Render a movie of a run.

    Args:
        run: the folder of a run.
        out: an .mp4 or .gif; by default movie.mp4 in the folder.
        gif: write a .gif beside the .mp4.
        rate: pictures a second, by default `RATE`, or `RATE_IN_SOFTWARE`.
        speed: times real time; by default the smallest of 1, 2, 5, 10, … with which the movie lasts
            at most 20 s.
        start, end: part of the run that is filmed [s].
        progress: called with the number of the frame and that of all.
        say: called with a sentence where the defaults are those of a machine without graphics card.
    """
    shot = shot or Shot()
    shot.check()
    files = _targets(run, out, gif)
    if rate is not None and not 1 <= rate <= 120:
        raise InputError(f"fps = {rate:g}: must be from 1 to 120")
    for file in files:
        check_target(file, (".mp4", ".gif"))
    shot, rate, sentence = _affordable(shot, rate)
    assert shot.size is not None
    take = open_take(run)
    first, last = _span(take, start, end)
    speed = _speed(last - first, speed)
    times = frame_times(first, last, rate, speed)
    with Filming(take, shot, times, rate) as filming, ExitStack() as open_files:
        if sentence and say is not None:
            say(sentence)
        writers = [open_files.enter_context(open_writer(f, shot.size, rate)) for f in files]
        for number, time in enumerate(times):
            picture = filming.picture(number, time, speed)
            for add in writers:
                add(picture)
            if progress is not None:
                progress(number + 1, len(times))
    return Movie(files, len(times), rate, speed, shot.size)


def write_still(
    run: str | Path,
    time: float,
    shot: Shot | None = None,
    out: str | Path | None = None,
) -> Path:
    """A single picture of a run at `time` [s]; by default frame.png in the run's folder."""
    shot = shot or Shot()
    shot.check()
    shot = replace(shot, size=shot.size or SIZE)
    path = run_folder(run) / "frame.png" if out is None else Path(out)
    check_target(path, (".png",))
    platform()
    take = open_take(run)
    low, high = take.time[0], take.time[-1]
    if not low - 1e-9 <= time <= high + 1e-9:
        raise InputError(f"frame = {time:g} s: the run goes from {low:g} to {high:g} s")
    with Filming(take, shot, np.array([time]), 25.0) as filming:
        write_picture(filming.picture(0, time, None), path)
    return path


def _affordable(shot: Shot, rate: float | None) -> tuple[Shot, float, str]:
    """Size and rate where they are not given: smaller where the processor has to draw, and a
    sentence about it."""
    platform()
    if (shot.size is not None and rate is not None) or not is_software():
        return replace(shot, size=shot.size or SIZE), rate or RATE, ""
    size, slow = shot.size or SIZE_IN_SOFTWARE, rate or RATE_IN_SOFTWARE
    usual = [] if shot.size is not None else [f"--size {SIZE[0]}x{SIZE[1]}"]
    usual += [] if rate is not None else [f"--fps {RATE:g}"]
    sentence = (
        f"there is no graphics card: the movie is drawn by the processor, {size[0]}x{size[1]} at "
        f"{slow:g} pictures a second; {' '.join(usual)} makes the usual one, which takes several "
        "times as long"
    )
    return replace(shot, size=size), slow, sentence


class Filming:
    """A take with its stage, the views of all frames and the overlay."""

    def __init__(self, take: Take, shot: Shot, times: np.ndarray, rate: float) -> None:
        self._views = _views(take, shot, times, rate)
        assert shot.size is not None
        scale = _force_scale(take, shot)
        by_change = shot.colour == "change"
        self._stage = Stage(take, shot.size, scale, by_change)
        soil = take.scene.soil
        deep = soil is not None and by_change and bool(soil.blocks)
        legend = Legend(1 / scale if scale else None, soil.scale if soil and deep else None)
        self._overlay = Overlay(
            shot.size, take.scene.title, shot.caption or take.scene.name, legend
        )

    def picture(self, number: int, time: float, speed: float | None) -> np.ndarray:
        """The frame of that number, with its texts; shape [height, width, 3], 0 to 255."""
        bare = self._stage.picture(time, self._views[number])
        return self._overlay.write(bare, time, speed)

    def __enter__(self) -> Filming:
        return self

    def __exit__(self, *_: object) -> None:
        self._stage.close()


def frame_times(start: float, end: float, rate: float, speed: float) -> np.ndarray:
    """Times of a run [s] that are filmed, `rate` a second of the movie, `speed` times real time."""
    count = math.floor((end - start) * rate / speed + 1e-9) + 1
    if count > MOST_FRAMES:
        raise InputError(
            f"speed = {speed:g}: {count} frames are too many (at most {MOST_FRAMES}); give a "
            "higher speed, a lower fps, or start and end"
        )
    return start + np.arange(count) * speed / rate


def _targets(run: str | Path, out: str | Path | None, gif: bool) -> tuple[Path, ...]:
    path = run_folder(run) / "movie.mp4" if out is None else Path(out)
    other = path.with_suffix(".gif")
    return (path, other) if gif and path != other else (path,)


def _span(take: Take, start: float | None, end: float | None) -> tuple[float, float]:
    low, high = float(take.time[0]), float(take.time[-1])
    first, last = low if start is None else start, high if end is None else end
    if not (low - 1e-9 <= first < last <= high + 1e-9):
        raise InputError(
            f"start, end = {first:g}, {last:g} s: must be within the run, from {low:g} to "
            f"{high:g} s"
        )
    return first, last


def _speed(duration: float, given: float | None) -> float:
    """Speed in times real time; without one the smallest round one that ends within `LONGEST`."""
    if given is not None:
        if not (math.isfinite(given) and given > 0):
            raise InputError(f"speed = {given:g}: must be above 0")
        return given
    power = 1.0
    while True:
        for step in _SPEEDS:
            if duration <= LONGEST * power * step * (1 + 1e-9):
                return power * step
        power *= 10


def _views(take: Take, shot: Shot, times: np.ndarray, rate: float) -> list[View]:
    if shot.camera == "wheel":
        subject = take.wheel(times, shot.wheel)
    else:
        subject = take.robot(times) if shot.body is None else take.body(times, shot.body)
    return views(shot.camera, subject, rate, shot.azimuth, shot.elevation, shot.distance)


def _force_scale(take: Take, shot: Shot) -> float:
    """Length of the arrows [m/N]; 0 draws none."""
    if not shot.forces or not take.usual_force:
        return 0.0
    if shot.force_scale is not None:
        return shot.force_scale
    return USUAL_ARROW * take.radius / take.usual_force
