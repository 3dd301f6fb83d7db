"""An answer of the kineto-statics command as tables to print, and as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.kinetostatics.mobility import motion_shares

if TYPE_CHECKING:
    from rich.table import Table

    from marsyard.analysis.kinetostatics.climb import Climb, Moment
    from marsyard.analysis.kinetostatics.command import Answer
    from marsyard.analysis.kinetostatics.summary import Analysis

TWIST = ("v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z")


def as_data(answer: Answer) -> dict[str, Any]:
    """Everything as plain numbers and words, SI."""
    from marsyard.analysis.kinetostatics.summary import plain

    out: dict[str, Any] = {}
    if answer.analysis is not None:
        out |= answer.analysis.as_dict()
        if answer.asked.twist is not None:
            found = answer.analysis.model.inverse(answer.asked.twist)
            joints = answer.analysis.model.stance.joints
            out["rates"] = dict(zip(joints, found.rates, strict=True))
            out["forbidden_part"] = found.forbidden_words
    if answer.climb is not None:
        out["climb"] = {
            "step": answer.climb.step, "complete": answer.climb.complete,
            "demand": answer.climb.demand,
            "moments": [
                {"wheels": m.wheels, "height": m.height, "progress": m.progress,
                 "demand": m.demand,
                 "torques": {} if m.forces is None else m.forces.torque}
                for m in answer.climb.moments
            ],
        }  # fmt: skip
    if answer.largest is not None:
        out["largest_step"] = answer.largest
    if answer.sigma is not None:
        out["sigma_map"] = {
            "angles": [
                {"names": r.names, "low": r.low, "high": r.high} for r in answer.asked.sigma
            ],
            "values": answer.sigma,
        }
    for name, ds in (("run", answer.run), ("path", answer.path), ("map", answer.map)):
        if ds is not None:
            columns = [v for v in ds.data_vars if ds[v].ndim <= 1]
            out[name] = {str(v): ds[v].values for v in (*ds.coords, *columns)}
    return plain(out)


def tables_of(answer: Answer) -> list[Any]:
    """Tables and sentences, in the order they are printed."""
    out: list[Any] = []
    others = (answer.climb, answer.largest, answer.sigma, answer.path)
    # the pose alone is of no interest to one who asks for a climb or a path
    alone = all(part is None for part in others) or answer.asked.twist is not None
    if answer.analysis is not None:
        said = _of_analysis(answer.analysis, answer.asked.twist)
        out += said if alone else said[:1]
    if answer.climb is not None:
        out += _of_climb(answer.climb, answer.asked.friction)
    if answer.largest is not None:
        out.append(
            f"largest step with friction {answer.asked.friction:g}: {100 * answer.largest:.1f} cm"
        )
    if answer.sigma is not None:
        low, high = np.nanmin(answer.sigma), np.nanmax(answer.sigma)
        out.append(f"σ over {_names(answer)}: {low:.4g} to {high:.4g}")
    if answer.run is not None:
        out += _of_run(answer.run)
    if answer.path is not None:
        out += _of_path(answer.path)
    if answer.map is not None:
        out += _of_map(answer.map)
    return out


def _names(answer: Answer) -> str:
    return " and ".join("+".join(r.names) for r in answer.asked.sigma)


# --- a stance


def _of_analysis(a: Analysis, twist: Sequence[float] | None) -> list[Any]:
    s, m = a.stance, a.mobility
    weight = s.mass * float(np.linalg.norm(s.gravity))
    demand, forces = a.demand
    head = (
        f"{s.robot.name}: frame of {s.platform}, {len(s.contacts)} contacts, {s.mass:.4g} kg, "
        f"{weight:.4g} N"
    )
    title = "D: reciprocal screws of the drives (forces [1], moments [m])"
    out: list[Any] = [head, _matrix(title, a.model.rows, a.model.D)]
    out.append(_square("B", a.model.rows, a.model.coordinates, a.model.B))
    out.append(_square("J_a", a.model.coordinates, _drives(a), a.model.J_a))
    if len(a.model.constraints):
        words = m.constraint_words
        out.append(_matrix("wrenches of the ground alone", words, a.model.constraints))
    out += [
        f"degree of mobility (rank of D): {m.degree}",
        _motions(a),
        f"relations among the wheels' rates: {m.surplus}; condition number {m.condition:.3g}",
    ]
    if twist is not None:
        out.append(_rates(a, twist))
    force = a.ellipsoids["force"]
    axes = ", ".join(f"{v:.4g}" for v in force.semi_axes)
    out.append(
        f"traction index σ {a.sigma:.5g}; force ellipsoid of unit torques, semi-axes {axes} N/(N·m)"
    )
    out.append(_contacts(a, forces))
    if forces is None:
        out.append("no equilibrium: no friction holds the robot in this pose")
    else:
        out.append(
            f"friction demand {demand:.4g} (the torques above share it best); "
            f"margin of stability {_deg(a.margin)}"
        )
    out.append(_limits_table(a, weight))
    return out


def _motions(a: Analysis) -> Any:
    """Controllable, uncontrolled and forbidden motions: in words where these are plain, else how
    much of each plain motion they hold."""
    from rich.console import Group

    m, shares = a.mobility, motion_shares(a.model)
    plain = all(min(v, 1 - v) < 1e-3 for row in shares.values() for v in row)
    words = [
        f"controllable: {len(m.controllable)}: {_list(m.controllable_words)}",
        f"uncontrolled: {len(m.uncontrolled)}: {_list(m.uncontrolled_words)}",
    ]
    if plain:
        return Group(*words, f"forbidden by the ground: {_list(m.forbidden_words)}")
    table = _table(
        "share of elementary motions in the controllable subspace",
        ("", "allowed", "controllable", "not controlled"),
    )
    for name, row in shares.items():
        table.add_row(name, *(f"{100 * v:.0f} %" for v in row))
    return Group(*words, f"forbidden by the ground: {len(m.forbidden)} combinations", table)


def _drives(a: Analysis) -> list[str]:
    return [a.model.stance.joints[k] for k in a.model.drives]


def _matrix(title: str, rows: Sequence[str], values: np.ndarray) -> Table:
    table = _table(title, ("", "f_x", "f_y", "f_z", "m_x", "m_y", "m_z"))
    for name, row in zip(rows, values, strict=True):
        table.add_row(name, *(_n(v) for v in row))
    return table


def _square(
    title: str, rows: Sequence[str], columns: Sequence[str], values: np.ndarray
) -> Table | str:
    """A matrix; if it is diagonal, one line."""
    if values.shape[0] == values.shape[1] and not np.any(values - np.diag(np.diag(values))):
        return f"{title} = diag({', '.join(_n(v) for v in np.diag(values))})"
    table = _table(title, ("", *columns))
    for name, row in zip(rows, values, strict=True):
        table.add_row(name, *(_n(v) for v in row))
    return table


def _rates(a: Analysis, twist: Sequence[float]) -> Table:
    found = a.model.inverse(twist)
    words = ", ".join(f"{n} {v:g}" for n, v in zip(TWIST, twist, strict=True) if v)
    title = f"rates for {words or 'no motion'}"
    if found.forbidden_words:
        title += f"; the ground forbids: {found.forbidden_words}"
    table = _table(title, ("joint", "rad/s or m/s", ""))
    for k, name in enumerate(a.model.stance.joints):
        note = "driven" if a.model.stance.driven[k] else "follows"
        table.add_row(name, _n(found.rates[k]), "open" if name in found.open else note)
    return table


def _contacts(a: Analysis, forces: Any) -> Table:
    places = ("", "x m", "y m", "z m", "tilt")
    heads = (*places, "normal N", "along N", "left N", "friction use", "torque N·m")
    table = _table("contacts in the platform's frame, forces that take least friction", heads)
    s = a.stance
    for i, name in enumerate(s.contacts):
        tilt = math.acos(max(-1.0, min(1.0, float(s.axes[i, 0] @ s.up))))
        row = [name, *(f"{v:.3f}" for v in s.points[i]), _deg(tilt)]
        if forces is not None:
            joint = s.robot.wheels[name].joint if name in s.robot.wheels else ""
            torque = forces.torque.get(joint, math.nan)
            torque = 0.0 if abs(torque) < 1e-6 else torque
            row += [
                f"{forces.normal[i]:.1f}", f"{_zero(forces.along[i]):.1f}",
                f"{_zero(forces.left[i]):.1f}", f"{_zero(forces.use[i]):.3f}", _n(torque),
            ]  # fmt: skip
        table.add_row(*row)
    return table


def _limits_table(a: Analysis, weight: float) -> Table:
    bounded = bool(np.isfinite(a.balance.limits).any())
    table = _table(
        f"limits, motors {'as given' if bounded else 'without limit'}",
        ("", "", "by weight", "limited by"),
    )
    for direction, size in a.pulls.items():
        text = "none" if math.isnan(size) else f"{size:.4g} N"
        share = "" if math.isnan(size) else f"{size / weight:.3f}"
        table.add_row(f"largest horizontal pull {direction}", text, share, a.limited_by(direction))
    level = bool((a.stance.axes[:, 0] @ a.stance.up > 1 - 1e-9).all())
    # the ground's own slope is not counted
    slope = "largest slope" if level else "can be tilted further"
    for name, angle in a.slopes.items():
        table.add_row(f"{slope}, {name}", _deg(angle), "", "")
    return table


# --- the rest


def _of_climb(c: Climb, friction: float) -> list[Any]:
    if not c.moments:
        return [f"climb of a step of {100 * c.step:.4g} cm: no pose was found"]
    table = _table(
        f"climb of a step of {100 * c.step:.4g} cm, with torques that take least friction",
        ("axle", "height of its centre m", "friction demand", "contacts", "largest torque N·m",
         "at", ""),
    )  # fmt: skip
    hardest = c.hardest
    for m in c.moments:
        marks = ["hardest"] * (m is hardest) + ["beyond the friction"] * (m.demand > friction)
        torque, wheel = largest_torque(m)
        table.add_row(
            "+".join(m.wheels), f"{m.height:.3f}", f"{m.demand:.3f}",
            str(len(m.stance.contacts)), f"{torque:.3g}" if wheel else "", wheel, ", ".join(marks),
        )  # fmt: skip
    return [table, _climb_words(c, friction)]


def _climb_words(c: Climb, friction: float) -> str:
    axle = "+".join(c.hardest.wheels)
    if not c.complete:
        return "no higher pose exists: the step is too high for the chassis"
    torque, wheel = max((largest_torque(m) for m in c.moments), key=lambda found: found[0])
    drives = f"; largest torque {torque:.3g} N·m, at {wheel}" if wheel else ""
    if c.demand <= friction:
        return (
            f"friction {friction:g} is sufficient; most demanding for {axle}, "
            f"{c.demand:.4g}{drives}"
        )
    return f"friction {friction:g} is not enough: {axle} needs {c.demand:.4g}{drives}"


def largest_torque(moment: Moment) -> tuple[float, str]:
    """Largest drive torque of the forces of a pose [N·m], and its wheel; 0 and "" without."""
    wheels = {w.joint: name for name, w in moment.stance.robot.wheels.items()}
    torques = {} if moment.forces is None else moment.forces.torque
    found = [(abs(t), wheels[joint]) for joint, t in torques.items() if joint in wheels]
    return max(found, default=(0.0, ""))


def _of_run(found: Any) -> list[Any]:
    from marsyard.analysis.kinetostatics.runs import hardest

    worst = hardest(found)
    table = _table("along the run", ("", "least", "at", "largest", "at"))
    for name in ("sigma", "demand", "moving", "use", "traction"):
        values = found[name].values
        finite = np.where(np.isfinite(values), values, np.nan)
        if np.isnan(finite).all():
            continue
        unit = "" if found[name].attrs["units"] == "1" else f" {found[name].attrs['units']}"
        ends = [int(np.nanargmin(finite)), int(np.nanargmax(finite))]
        cells = [(f"{finite[k]:.4g}{unit}", f"{float(found['time'][k]):.2f} s") for k in ends]
        table.add_row(found[name].attrs["long_name"], *cells[0], *cells[1])
    words = (
        f"hardest at {float(worst['time']):.2f} s: friction demand {float(worst['demand']):.3f} of "
        f"{found.attrs['friction']:g}, base at x {float(worst['direction']):.2f} m, "
        f"z {float(worst['height']):.2f} m"
    )
    if float(worst["demand"]) > found.attrs["friction"]:
        words += "; more than available: the pose cannot be held at rest"
    return [table, words]


def _of_path(found: Any) -> list[Any]:
    table = _table("along the path", ("", "least", "at", "largest", "at"))
    for name in found.data_vars:
        values = found[name].values
        if values.ndim != 1 or values.dtype.kind not in "fi" or name in ("verdict", "contacts"):
            continue
        finite = np.where(np.isfinite(values), values, np.nan)
        if np.isnan(finite).all():
            continue
        unit = found[name].attrs.get("units", "")
        cells: list[str] = []
        for k in (int(np.nanargmin(finite)), int(np.nanargmax(finite))):
            cells += [_unit(finite[k], unit), f"{float(found['distance'][k]):.2f} m"]
        table.add_row(str(found[name].attrs.get("long_name", name)), *cells)
    return [table, _verdict_words(found["verdict"].values, "poses", found)]


def _of_map(found: Any) -> list[Any]:
    values = found["verdict"].values
    head = f"traction map: {values.size} poses, {values.shape[0]} x {values.shape[1]} cells"
    table = _table("", ("verdict", "poses", "share"))
    for flag, name in _verdicts(found):
        count = int((values == flag).sum())
        table.add_row(name, str(count), f"{100 * count / values.size:.1f} %")
    best = values.min(axis=-1)
    return [head, table, _verdict_words(best, "cells in their best heading", found)]


def _verdict_words(values: np.ndarray, of: str, found: Any) -> str:
    shares = [f"{name} {100 * (values == flag).mean():.1f} %" for flag, name in _verdicts(found)]
    return f"verdict of {values.size} {of}: {', '.join(shares)}"


def _verdicts(found: Any) -> list[tuple[int, str]]:
    attrs = found["verdict"].attrs
    names = attrs.get("flag_meanings", "go hard no-go").split()
    return list(zip(attrs.get("flag_values", range(len(names))), names, strict=True))


def _table(title: str, heads: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    class Plain(Table):
        """Cells are texts as they stand: '[m]' is a unit, and no markup."""

        def add_row(self, *cells: Any, **options: Any) -> None:
            plain = (Text(cell) if isinstance(cell, str) else cell for cell in cells)
            super().add_row(*plain, **options)

    table = Plain(
        title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD,
        title_style="bold",
    )  # fmt: skip
    for k, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if k == 0 else "right")
    return table


def _list(words: Sequence[str]) -> str:
    return ", ".join(words) if words else "none"


def _zero(value: float) -> float:
    return 0.0 if abs(value) < 1e-6 else float(value)


def _n(value: float) -> str:
    if math.isnan(value):
        return ""
    return "0" if abs(value) < 1e-12 else f"{value:.5g}"


def _deg(angle: float) -> str:
    return "none" if math.isnan(angle) else f"{math.degrees(angle):.2f}°"


def _unit(value: float, unit: str) -> str:
    if unit in ("rad", "radian"):
        return _deg(float(value))
    return f"{float(value):.4g}" + ("" if unit in ("", "1") else f" {unit}")
