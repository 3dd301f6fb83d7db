"""Files of an answer of the kineto-statics command: figures and kinetostatics.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.sheet import save_png
from marsyard.errors import InputError
from marsyard.files.replacing import replacing

if TYPE_CHECKING:
    from marsyard.analysis.kinetostatics.command import Answer, Range

DPI = 130


def save_answer(answer: Answer, out: Path | None) -> list[Path]:
    """Write all that belongs to an answer into a folder; returns the files."""
    folder = _folder(answer) if out is None else Path(out)
    files: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, canvas in _figures(answer):
            files.append(Path(save_png(canvas, folder / f"{name}.png", DPI)))
        files += _pictures(answer, folder)
        path = folder / "kinetostatics.json"
        with replacing(path) as part:
            part.write_text(json.dumps(answer.data, indent=1, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    return [*files, path]


def _folder(answer: Answer) -> Path:
    robot = Path(answer.asked.robot)
    if answer.run is not None:
        return (robot if robot.is_dir() else robot.parent) / "kinetostatics"
    return Path("runs") / f"kinetostatics-{robot.name}"


def _figures(answer: Answer) -> Iterator[tuple[str, Any]]:
    """Names and figures of all that was asked for."""
    from marsyard.analysis.kinetostatics import figures, path_figures

    if answer.analysis is not None:
        yield from _of_stance(answer)
    if answer.climb is not None and answer.climb.moments:
        yield "climb", path_figures.climb_demand([answer.climb], answer.asked.friction)
    if answer.sigma is not None:
        first, second = answer.asked.sigma
        rows, columns = answer.sigma.shape
        yield "sigma", figures.sigma_map(
            np.linspace(first.low, first.high, columns),
            np.linspace(second.low, second.high, rows),
            answer.sigma, (_words(first), _words(second)),
        )  # fmt: skip
    if answer.run is not None:
        yield "run", path_figures.along_figure(answer.run)
    if answer.path is not None:
        from marsyard.analysis.traction_map.figures import draw_profile

        yield "path", draw_profile(answer.path)


def _words(r: Range) -> str:
    return " + ".join(r.names)


def _of_stance(answer: Answer) -> Iterator[tuple[str, Any]]:
    from marsyard.analysis.kinetostatics import figures
    from marsyard.analysis.kinetostatics.polytope import wrench_polytope

    analysis = answer.analysis
    assert analysis is not None
    demand, forces = analysis.demand
    if forces is None:
        return
    stance = analysis.stance
    weight = stance.mass * float(np.linalg.norm(stance.gravity))
    yield "friction", figures.friction_use(forces, answer.asked.friction, demand)
    found = [wrench_polytope(analysis.balance, axes) for axes in (("fx", "fz"), ("fx", "fy"))]
    if not any(p.empty for p in found):
        torque = answer.asked.torque or weight * float(np.abs(stance.radius).max(initial=0.1)) / 10
        yield (
            "forces",
            figures.polytope_section(found, analysis.ellipsoids["force"], torque, weight=weight),
        )


def _pictures(answer: Answer, folder: Path) -> list[Path]:
    """The robot with its ellipsoid and polytope, and the traction map."""
    files: list[Path] = []
    if answer.analysis is not None:
        from marsyard.analysis.kinetostatics.picture import draw_stance

        options = {} if answer.terrain is None else {"ground": answer.terrain}
        asked = answer.asked
        picture = draw_stance(
            answer.analysis.stance,
            folder / "stance.png",
            asked.friction,
            asked.torque,
            model=answer.analysis.model,
            **options,
        )
        files.append(picture)
    if answer.map is not None:
        from marsyard.analysis.traction_map.figures import save_figures

        files += [Path(f.path) for f in save_figures(answer.map, folder)]
        path = folder / "traction_map.nc"
        with replacing(path) as part:
            part.write_bytes(answer.map.to_netcdf(None, engine="h5netcdf"))
        files.append(path)
    return files
