"""The folder of a session: data, figures and a page, see `records`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.control.rover_kinematics import half_width_of
from marsyard.errors import InputError
from marsyard.files import parse_json, read_text
from marsyard.results.gates import GateScore, score_gates

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.drawing.page_plots import PagePlot
    from marsyard.operations.teleop.teleoperation import Teleoperation


def session_data(session: Teleoperation) -> xr.Dataset:
    """Predictions, what they missed by, and beliefs, as a labelled data set."""
    import xarray as xr

    record, errors = session.record, session.errors
    n = len(record["time"])
    told = np.array(record["told"], dtype=float).reshape(n, 3)
    predicted = np.array(record["predicted"], dtype=float).reshape(n, 3)
    axes = np.array(record["axes"], dtype=float).reshape(n, 3)
    ds = xr.Dataset(
        coords={"time": ("time", np.array(record["time"], dtype=float), _about("s", ""))}
    )
    for name, values, units, text in (
        ("told_x", told[:, 0], "m", "x reported by telemetry"),
        ("told_y", told[:, 1], "m", "y reported by telemetry"),
        ("told_heading", told[:, 2], "rad", "heading reported by telemetry"),
        ("predicted_x", predicted[:, 0], "m", "x predicted for this time"),
        ("predicted_y", predicted[:, 1], "m", "y predicted for this time"),
        ("predicted_heading", predicted[:, 2], "rad", "predicted heading"),
        ("ellipse_major", axes[:, 0], "m", "larger semi-axis of the 95 % ellipse"),
        ("ellipse_minor", axes[:, 1], "m", "smaller semi-axis of the 95 % ellipse"),
        ("ellipse_angle", axes[:, 2], "rad", "direction of the larger semi-axis"),
        ("error_distance", [e.distance for e in errors], "m", "position error of the prediction"),
        ("error_heading", [e.heading for e in errors], "rad", "heading error of the prediction"),
        ("driven", [e.driven for e in errors], "m", "distance since the telemetry that the "
                                                    "prediction starts from"),
    ):  # fmt: skip
        ds[name] = ("time", np.array(values, dtype=float), _about(units, text))
    adaptation = session.predictor.adaptation
    when = [time for time, _, _ in adaptation.history]
    ds = ds.assign_coords(
        learned=("learned", np.array(when, dtype=float), _about("s", "time of the soil update")),
        parameter=list(adaptation.names),
    )
    k = len(adaptation.names)
    for name, column in (("factor", 1), ("factor_deviation", 2)):
        values = np.array([row[column] for row in adaptation.history], dtype=float).reshape(-1, k)
        values = np.exp(values) if column == 1 else values
        text = "relative to the initial estimate" if column == 1 else "of its logarithm"
        ds[name] = (("learned", "parameter"), values, _about("", text))
    ds.attrs["title"] = session.scenario.title
    return ds


def _about(units: str, text: str) -> dict[str, str]:
    return {"units": units, "long_name": text}


def save_session(session: Teleoperation, folder: Path, truth: Path | None) -> None:
    """Write data, sequence, figures and page into the session's folder."""
    from marsyard.operations.sequence import save_sequence
    from marsyard.results import save

    ds = session_data(session)
    save(ds, folder / "session.nc")
    with contextlib.suppress(InputError):  # nothing was ordered
        save_sequence(session.recorded(), folder / "session.yaml")
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    drawn = [
        draw(ds, session, figures / f"{name}.png")
        for name, draw in (("path", _draw_path), ("errors", _draw_errors))
    ]
    _write_page(session, ds, folder, truth, drawn)


def _true_path(session: Teleoperation) -> np.ndarray:
    """Where the rover really was, if its log is there: time, x, y."""
    file = None if session.folder is None else session.folder / "truth.jsonl"
    if file is None or not file.exists():
        return np.zeros((0, 3))
    rows = []
    for line in read_text(file, "table").splitlines():
        try:
            read = parse_json(line, file.name)
        except ValueError:
            continue  # a line that was cut off when the process was killed
        rows.append((read["time"], *read["qpos"][:2]))
    return np.array(rows, dtype=float).reshape(-1, 3)


def _draw_path(ds: xr.Dataset, session: Teleoperation, file: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    true = _true_path(session)
    if len(true):
        axes.plot(true[:, 1], true[:, 2], color="0.6", lw=3, label="true")
    _draw_gates(axes, session)
    axes.plot(ds.told_x, ds.told_y, ".", ms=4, label="told")
    axes.plot(ds.predicted_x, ds.predicted_y, "x", ms=4, label="predicted for it")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="Path")
    axes.legend()
    figure.savefig(file, dpi=100)
    return file


def _draw_gates(axes: Any, session: Teleoperation) -> None:
    """Gates as lines between their posts, with their numbers."""
    score = gate_score(session)
    if score is None:
        return
    colours = {"passed": "tab:green", "missed": "tab:red"}
    for number, (gate, state) in enumerate(
        zip(session.scenario.gates, score.states, strict=True), 1
    ):
        x, y = gate.posts().T
        axes.plot(x, y, "o-", color=colours.get(state, "tab:orange"), ms=5, lw=1)
        axes.annotate(str(number), gate.centre, ha="center", va="center", fontsize=8)


def gate_score(session: Teleoperation) -> GateScore | None:
    """How the rover took the gates of the scenario: by its own log, by telemetry without one; none
    where there are no gates."""
    if not session.scenario.gates:
        return None
    true = _true_path(session)
    if not len(true):
        return session.gates()
    return score_gates(
        session.scenario.gates, true[:, 0], true[:, 1:],
        half_width_of(session.scenario.robot.name),
    )  # fmt: skip


def _gate_rows(session: Teleoperation) -> list[tuple[str, str]]:
    """The score of the gates as facts."""
    score = gate_score(session)
    if score is None:
        return []
    text = score.words
    if score.duration is not None:
        text += f", from the first to the last in {score.duration:.0f} s"
    rows = [("gates", text)]
    for p in score.passages:
        side = "left" if p.offset > 0 else "right"
        rows.append(
            (f"gate {p.number}", f"at {p.time:.1f} s, {100 * abs(p.offset):.0f} cm {side} of its "
             "middle")
        )  # fmt: skip
    return rows


def _draw_errors(ds: xr.Dataset, session: Teleoperation, file: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    above.plot(ds.time, 100 * ds.error_distance, label="error")
    above.plot(ds.time, 100 * ds.ellipse_major, color="0.6", lw=1, label="95 %, larger axis")
    above.set(ylabel="prediction error [cm]", ylim=(0, None))
    above.legend()
    for k, name in enumerate(ds.parameter.values):
        value, deviation = ds.factor[:, k], ds.factor_deviation[:, k]
        (line,) = below.plot(ds.learned, value, label=str(name))
        low, high = value * np.exp(-deviation), value * np.exp(deviation)
        below.fill_between(ds.learned, low, high, color=line.get_color(), alpha=0.15)
    below.axhline(1.0, color="0.6", lw=1)
    below.set(xlabel="time [s]", ylabel="estimate / initial estimate")
    if ds.sizes["parameter"]:
        below.legend()
    figure.savefig(file, dpi=100)
    return file


def _write_page(
    session: Teleoperation, ds: xr.Dataset, folder: Path, truth: Path | None, figures: list[Path]
) -> None:
    """A page with what happened."""
    from marsyard.drawing.page import joined, link, pairs, paragraph, picture, table
    from marsyard.drawing.report_page import FIGURES, Part, ReportPage, write_report_page
    from marsyard.drawing.sheet import FigureFile
    from marsyard.results.report import versions

    shown = [FigureFile(path.stem.capitalize(), "", path) for path in figures]
    facts = _facts(session, ds)
    orders = [(str(o.id), o.words, o.state, o.reason) for o in session.orders()]
    own_run = paragraph(link("truth/report.html", "The rover's own run")) if truth else ""
    page = ReportPage(
        answer=_answer(session, len(orders)),
        title=session.scenario.title,
        kind="teleoperation",
        picture=joined(*(picture(each) for each in shown[:1])),
        key_plots=_key_plots(ds),
        parts=[
            Part("About this session", joined(pairs(facts), own_run), open=True),
            Part("Orders", table(("id", "order", "state", "why"), orders, 4), str(len(orders))),
            FIGURES,
            Part("Versions", pairs(versions())),
        ],
        figures=shown[1:],
    )
    write_report_page(folder, page)


def _answer(session: Teleoperation, orders: int) -> str:
    """How long, how many orders, and how the rover was at the end."""
    state = f"{session.remote.state} {session.remote.reason}".strip()
    return f"{session.now:.0f} s, {orders} order{'' if orders == 1 else 's'}; the rover: {state}"


def _key_plots(ds: xr.Dataset) -> list[PagePlot]:
    """How far off predictions were, and what of the soil was learned."""
    from marsyard.drawing.colours import OTHERS
    from marsyard.drawing.page_plots import INK, PageCurve, PagePanel, PagePlot

    time = ds["time"].values
    if len(time) < 2:
        return []
    curves = (
        PageCurve("95 %, larger axis", time, 100 * ds["ellipse_major"].values, INK, 1.0),
        PageCurve("error", time, 100 * ds["error_distance"].values, OTHERS[0]),
    )
    panels = [PagePanel("error of prediction [cm]", curves)]
    if ds.sizes["learned"] > 1:
        learned = tuple(
            PageCurve(str(name), ds["learned"].values, ds["factor"].values[:, k],
                      OTHERS[k % len(OTHERS)])
            for k, name in enumerate(ds["parameter"].values)
        )  # fmt: skip
        panels.append(PagePanel("belief / first belief", learned))
    return [PagePlot("Key plots", tuple(panels), "time [s]", (float(time[0]), float(time[-1])))]


def _facts(session: Teleoperation, ds: xr.Dataset) -> list[tuple[str, str]]:
    view = session.operator.view(max(session.now, session.operator.now))
    out: list[tuple[str, Any]] = [
        ("duration", f"{session.now:.1f} s"),
        ("rover", f"{session.remote.state} {session.remote.reason}".strip()),
        ("round trip", "not measured" if view.round_trip is None else f"{view.round_trip:.2f} s"),
        ("telemetry", f"{session.operator.gaps.received} heard, {view.missing} missing"),
        ("orders", ", ".join(f"{n} {state}" for state, n in view.orders.items()) or "none"),
    ]
    out += _gate_rows(session)
    moving = ds.driven.values > 0.02
    if moving.sum() >= 4:
        errors = ds.error_distance.values[moving]
        half = len(errors) // 2
        out.append((
            "prediction error, median",
            f"{100 * np.median(errors[:half]):.2f} cm in the first half of the path, "
            f"{100 * np.median(errors[half:]):.2f} cm in the second",
        ))  # fmt: skip
    out += [
        (
            f"{b.name} [{b.unit}]",
            f"{b.prior:.4g} at the start, {b.value:.4g} ± {b.deviation:.2g} now",
        )
        for b in session.predictor.adaptation.beliefs()
    ]
    return [(k, str(v)) for k, v in out]
