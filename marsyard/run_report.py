"""Drawing the report of a run from its saved results.

Everything here can be lost and had again: `marsyard report RUN` reads `results.nc`, `ground.nc`,
`scenario.yaml`, `model.mjb` and `run.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError

if TYPE_CHECKING:
    import mujoco
    import xarray as xr

    from marsyard.ground import Surface
    from marsyard.results import Answer, CheckResult, Ground
    from marsyard.scenario import Scenario

#: where figures of a run go
FIGURES = "figures"


@dataclass(frozen=True)
class Finished:
    """A run with all that its report shows. `post_texts`: results of functions of one's own in
    words, `post`: all that they gave, as far as it is still there."""

    data: xr.Dataset
    scenario: Scenario
    model: mujoco.MjModel | None = None
    ground: Ground | None = None
    surfaces: Sequence[Surface] = ()
    checks: Sequence[CheckResult] = ()
    answers: Sequence[Answer] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    post_texts: Mapping[str, str] = field(default_factory=dict)
    post: Mapping[str, Any] = field(default_factory=dict)


def check_format(figures: str | None) -> None:
    """Refuse formats of figures that are not written."""
    from marsyard.drawing.sheet import FORMATS

    if figures is not None and figures not in FORMATS:
        raise InputError(f"--figures: '{figures}' is not one of {', '.join(FORMATS)}")


def draw_report(folder: Path, run: Finished, figures: str | None = None) -> Path:
    """Draw into a run's folder: pictures of the soil, with `figures` (png, svg, pdf) also every
    curve of the report as a file, and `report.html`."""
    from marsyard.results import save_figures, save_ground_figures, write_report

    wanted = run.scenario.report
    drawn = folder / FIGURES
    saved, shown = [], []
    if figures is not None:
        saved = save_figures(
            run.data, wanted.figures, drawn, dpi=200, surfaces=run.surfaces, kind=figures
        )
    if run.ground is not None:
        first = len(saved) + 1
        soil = (run.data, run.ground, drawn)
        shown = save_ground_figures(*soil, wanted=wanted.ground, surfaces=run.surfaces, first=first)
        if figures not in (None, "png"):  # the page shows PNG
            save_ground_figures(
                *soil, wanted=wanted.ground, surfaces=run.surfaces, first=first, kind=str(figures)
            )
    info = dict(run.info)
    found = info.get("convergence")
    if found is not None:
        from marsyard.convergence import convergence_section

        info["convergence_html"] = convergence_section(found)
    section = ""
    if run.post or run.post_texts or (folder / "post").exists():
        from marsyard.modules.post import kept_pictures, post_section, save_pictures

        shown += save_pictures(folder, run.post) if run.post else kept_pictures(folder)
        section = post_section(run.post_texts, folder)
    return write_report(
        folder, run.data, run.scenario, run.checks, shown, info, run.ground, section, run.answers,
        run.model,
    )  # fmt: skip


def read_finished(folder: str | Path) -> Finished:
    """A run from its folder; its checks and questions are evaluated again."""
    from marsyard.results import answer_all, evaluate_all, load_ground, open_results
    from marsyard.results.ground_file import FILE_NAME as GROUND
    from marsyard.results.replay import read_model
    from marsyard.run_record import read_record
    from marsyard.scenario import load_scenario
    from marsyard.simulation.world import make_surfaces

    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not the folder of a run")
    data = open_results(folder)
    kept = folder / "scenario.yaml"
    if not kept.exists():
        raise InputError(f"'{folder}' has no scenario.yaml; the report cannot be made without it")
    scenario = load_scenario(kept)
    record = read_record(folder)
    return Finished(
        data=data,
        scenario=scenario,
        model=read_model(folder),
        ground=load_ground(folder) if (folder / GROUND).exists() else None,
        surfaces=make_surfaces(scenario),
        checks=evaluate_all(data, scenario.report.checks, record.shortened),
        answers=answer_all(data, scenario.report.questions, record.shortened),
        info=record.info(),
        post_texts=record.post,
    )


def make_report(folder: str | Path, figures: str | None = None) -> Path:
    """Make the report of a run again from what its folder holds; the path of the page."""
    check_format(figures)
    run = read_finished(folder)
    for path in (Path(folder) / FIGURES).glob("[0-9][0-9]-*.*"):
        if path.suffix in (".png", ".svg", ".pdf"):  # those of the report before
            path.unlink()
    return draw_report(Path(folder), run, figures)
