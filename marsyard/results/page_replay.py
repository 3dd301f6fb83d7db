"""A run in 3D inside a page: rover, ground with its ruts, a slider for the time.

The page carries the shapes of the bodies, their poses at up to `FRAMES` times, a grid of the ground
with the change of height that the run left and when, and a program of its own in WebGL 2
(`page_replay.js`); nothing is loaded. Arrays are whole numbers of 16 bits,

    value = offset + scale · number,      0 ≤ number ≤ 65535

a resolution of 0.2 mm over 10 m. `marsyard view` shows the same run with forces and in full.

    marsyard.show("runs/exomars-rough")             # the last line of a notebook's cell
    marsyard.show(run).save("run.html")             # a page that needs nothing else
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import xarray as xr

from marsyard.control.rover_kinematics import half_width_of
from marsyard.drawing.page import replay, templates
from marsyard.drawing.page_plots import json_in_page
from marsyard.errors import InputError
from marsyard.files.replacing import replacing
from marsyard.ground.heights import height_of
from marsyard.results.dataset import open_results
from marsyard.results.gates import score_gates
from marsyard.results.ground_file import FILE_NAME, Ground, load_ground
from marsyard.results.replay import Scene, build_scene, read_model, run_folder

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario
    from marsyard.single_run import Run

#: most frames, and nodes of the ground along its longer side
FRAMES, NODES = 300, 180
#: ground shown beyond the track [m]
_AROUND = 2.0
_SPEEDS = (1, 2, 5, 10, 20)
#: height of the posts of gates, of the robot's size; colours of gates by what became of them
POST = 0.35
_PASSED, _LEFT_OUT = (0.1, 0.55, 0.25), (0.8, 0.15, 0.1)


@dataclass(frozen=True)
class Page3D:
    """A run in 3D as a page of its own; notebooks show it in a frame."""

    page: str
    height: int = 500  # of the frame [pixels]

    def __repr__(self) -> str:
        """As a terminal shows it."""
        return f"Page3D: a run in 3D, {len(self.page) / 1e6:.2g} MB; .save('run.html') writes it"

    def _repr_html_(self) -> str:
        source = html.escape(self.page, quote=True)
        return (
            f'<iframe srcdoc="{source}" style="width:100%;height:{self.height}px;border:0" '
            'title="run in 3D"></iframe>'
        )

    def save(self, path: str | Path) -> Path:
        """Write the page."""
        with replacing(Path(path)) as part:
            part.write_text(self.page, encoding="utf-8")
        return Path(path)


def show(run: str | Path | Run, height: int = 500) -> Page3D:
    """A run in 3D for a notebook or a page, from its folder or the result of `marsyard.run`."""
    if isinstance(run, str | Path):
        parts = _of_folder(run)
    elif getattr(run, "study", None) is not None:
        raise InputError("show: a study has many runs; give the folder of one of its members")
    else:
        parts = _of_run(run)
    data = replay_data(*parts)
    shown = replay_block(data)
    page = templates().get_template("replay.html").render(title=data["title"], replay=shown)
    return Page3D(page, height)


def _of_folder(run: str | Path) -> tuple[mujoco.MjModel, xr.Dataset, Scenario, Ground | None]:
    from marsyard.scenario import load_scenario

    ds, folder = open_results(run), run_folder(run)
    ground = load_ground(folder) if (folder / FILE_NAME).exists() else None
    return read_model(folder), ds, load_scenario(folder / "scenario.yaml"), ground


def _of_run(run: Run) -> tuple[mujoco.MjModel, xr.Dataset, Scenario, Ground | None]:
    from marsyard.simulation import build_world

    return build_world(run.scenario).model, run.data, run.scenario, run.ground


def replay_block(data: dict[str, Any]) -> str:
    """Canvas, slider and program for what `replay_data` gives; one in a page."""
    return replay(json_in_page(data), _SPEEDS)


def replay_data(
    model: mujoco.MjModel,
    ds: xr.Dataset,
    scenario: Scenario,
    ground: Ground | None,
    zones: Sequence[np.ndarray] = (),
    start: float = 0.0,
) -> dict[str, Any]:
    """All that the program in the page needs; `zones` are outlines on the ground [m], [n, 2], and
    `start` is the time shown at first [s]."""
    # the page lights faces by their own normals
    scene = build_scene(model, ds, most=2 * FRAMES, smooth=False)
    keep = np.unique(np.linspace(0, len(scene.time) - 1, FRAMES).round().astype(int))
    position, turn = scene.position[keep], _continuous(scene.quaternion[keep])
    base = scene.base[keep]
    grid, height = _ground(scenario, ground, base)
    return {
        "title": scene.title,
        "size": scene.size,
        "start": float(np.clip(start, 0.0, scene.time[keep][-1])),
        "time": _packed(scene.time[keep]),
        "position": _packed(position),
        "quaternion": _packed(turn),
        "base": _packed(base),
        "bodies": _bodies(scene),
        "ground": grid,
        "track": _packed(_on_ground(base[:, :2], height)),
        "zones": [_packed(_on_ground(z, height)) for z in zones],
        "gates": replay_gates(scenario, ds, height, POST * scene.size),
        "commands": _commands(ds),
    }


def replay_gates(
    scenario: Scenario, ds: xr.Dataset, height: Any, high: float
) -> list[tuple[dict[str, Any], tuple[float, float, float]]]:
    """Each gate as a line, up one post, across the ground and up the other, and its colour: green
    where it was passed, else red."""
    if not scenario.gates:
        return []
    score = score_gates(
        scenario.gates, ds["time"].values, ds["position_base"].values,
        half_width_of(scenario.robot.name),
    )  # fmt: skip
    out = []
    for gate, state in zip(scenario.gates, score.states, strict=True):
        feet = _on_ground(gate.posts(), height)
        line = np.concatenate([feet[:1] + [0, 0, high], feet, feet[1:] + [0, 0, high]])
        out.append((_packed(line), _PASSED if state == "passed" else _LEFT_OUT))
    return out


def _commands(ds: xr.Dataset) -> list[tuple[float, str]]:
    """When the commands of a drive began [s], and what they were."""
    if "command_began" not in ds:
        return []
    return [
        (float(t), f"{k} {ds.command_kind.values[k]}: {ds.command_note.values[k]}".rstrip(": "))
        for k, t in enumerate(ds.command_began.values)
        if np.isfinite(t)
    ]


def _bodies(scene: Scene) -> list[dict[str, Any]]:
    out = []
    for shapes in scene.shapes:
        place = np.concatenate([s.vertices for s in shapes])
        tints = [np.tile(np.array(s.colour) / 255, (len(s.vertices), 1)) for s in shapes]
        first = np.cumsum([0, *(len(s.vertices) for s in shapes)])
        faces = [s.triangles + n for s, n in zip(shapes, first, strict=False)]
        out.append(
            {
                "place": _packed(place),
                "tint": _packed(np.concatenate(tints)),
                "triangles": _base64(np.concatenate(faces).astype("<u4")),
            }
        )
    return out


def _ground(
    scenario: Scenario, ground: Ground | None, base: np.ndarray
) -> tuple[dict[str, Any], Any]:
    """A grid around the track: heights before the run, change and its time; and the heights."""
    from marsyard.interaction.soft_ground import terrain_of
    from marsyard.scenario.soil import TerrainGround
    from marsyard.simulation.world import make_surfaces

    low, high = base[:, :2].min(axis=0) - _AROUND, base[:, :2].max(axis=0) + _AROUND
    step = float(np.max(high - low)) / NODES
    x, y = (np.arange(a, b + step, step) for a, b in zip(low, high, strict=True))
    soft = [g for g in scenario.ground if isinstance(g, TerrainGround)]
    terrain = terrain_of(soft[0]) if soft else None
    height = height_of(make_surfaces(scenario), terrain, (low[0], high[0], low[1], high[1]))
    z = height(*np.meshgrid(x, y))
    # what floats has no ground: a plane below it, to see how it moves
    lowest = z[np.isfinite(z)].min() if np.isfinite(z).any() else base[:, 2].min() - _AROUND
    z = np.where(np.isfinite(z), z, lowest)
    change, when = np.zeros_like(z), np.zeros_like(z)
    if ground is not None:
        change, when = _ruts(ground, x, y, step)
    return {
        "nx": len(x), "ny": len(y), "x0": float(x[0]), "y0": float(y[0]), "step": step,
        "height": _packed(z), "change": _packed(change), "time": _packed(when),
    }, height  # fmt: skip


def _ruts(ground: Any, x: np.ndarray, y: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Change of height [m] and when it happened [s], at the nodes nearest to those asked for."""
    every = max(1, round(step / ground.spacing))
    part = ground.window(x[0] - step, x[-1] + step, y[0] - step, y[-1] + step, every=every)
    near = part.sel(x=x, y=y, method="nearest")
    change = near["change"].transpose("y", "x").values
    when = near["time"].transpose("y", "x").values
    return np.nan_to_num(change), np.nan_to_num(when)


def _on_ground(points: np.ndarray, height: Any) -> np.ndarray:
    """Points x, y on the ground, a little above it [m], [n, 3]."""
    z = height(points[:, 0], points[:, 1])
    return np.column_stack([points, np.where(np.isfinite(z), z, 0.0) + 0.015])


def _continuous(quaternion: np.ndarray) -> np.ndarray:
    """Quaternions [frame, body, 4] that do not jump between q and −q."""
    out = quaternion.copy()
    for k in range(1, len(out)):
        flip = np.sum(out[k] * out[k - 1], axis=-1) < 0
        out[k, flip] *= -1
    return out


def _packed(values: np.ndarray) -> dict[str, Any]:
    flat = np.asarray(values, dtype=float).ravel()
    low, high = float(flat.min()), float(flat.max())
    scale = (high - low) / 65535 or 1.0
    whole = np.round((flat - low) / scale).astype("<u2")
    return {"offset": low, "scale": scale, "data": _base64(whole)}


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
