"""Presentation of a run's energy: two figures, a section of the report, tables and a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.page import headed, joined, number, pairs, paragraph, quantity, table
from marsyard.drawing.sheet import FONT, FigureFile, legend, plain, save_png, sheet, slug, wrap
from marsyard.files.replacing import replacing
from marsyard.results.energy import CAUSES, EnergyAccount, MotorEnergy, causes_of, powers_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from rich.table import Table

_INK = "#222222"
ROLE_COLOURS = {
    "drives": "#2b5fc0", "steering": "#2f8f4e", "legs": "#d55e00", "frame": "#8e5bb5",
    "passive": "#6b6b6b", "other": "#b8860b", "motors": "#2b5fc0",
}  # fmt: skip
#: of roles that a robot names itself, in the order of its joints
_OTHER_COLOURS = ("#2b5fc0", "#d55e00", "#2f8f4e", "#8e5bb5", "#b8860b", "#4aa3b5", "#c2568a")
_CAUSE_COLOURS = {
    "kinetic": "#2f8f4e", "lifting": "#2b5fc0", "springs": "#4aa3b5", "compaction": "#d55e00",
    "shear": "#b8860b", "soil_rest": "#c9a77c", "ground": "#7a5c3e",
    "damping": "#c2568a", "rest": "#8e5bb5",
}  # fmt: skip
#: parts of a motor's energy: field, name, colour
_PARTS = (
    ("spent", "mechanical, spent", "#2b5fc0"),
    ("copper", "copper loss", "#d55e00"),
    ("gear", "gear loss", "#b8860b"),
)


# --- figures


def save_energy_figures(
    ds: xr.Dataset,
    account: EnergyAccount,
    folder: str | Path,
    first: int = 1,
    dpi: int = 130,
    motors: bool = True,
    kind: str = "png",
) -> list[FigureFile]:
    """Power and energy over time and, if wanted, by motor;
    files of a kind, numbered from `first` on."""
    piece = ds.sel(time=slice(account.start - 1e-9, account.end + 1e-9))
    words = f"{balance_words(account)} {assumption_words(account)}"
    drawn = [("Power and energy", words, draw_energy(piece, account))]
    if motors:
        drawn.append(("Energy by motor", assumption_words(account), draw_motors(account)))
    files = []
    for number_, (title, caption, canvas) in enumerate(drawn, first):
        path = Path(folder) / f"{number_:02d}-{slug(title)}.{kind}"
        files.append(FigureFile(title, caption, save_png(canvas, path, dpi)))
    return files


#: name, values, colour (none: that of ink), width, dashed
EnergyCurve = tuple[str, np.ndarray, str, float, bool]


def energy_curves(
    ds: xr.Dataset, account: EnergyAccount
) -> tuple[tuple[str, list[EnergyCurve]], ...]:
    """Power by group of joints, and the work of the motors with where it went: the axis and the
    curves of each panel."""
    powers = powers_of(ds)
    colours = role_colours(list(powers))
    top: list[EnergyCurve] = [(role, p, colours[role], 1.3, False) for role, p in powers.items()]
    if "electrical_power" in ds:
        power = ds["electrical_power"].sum("motor").values
        top.append(("electrical, all motors", power, "", 1.0, True))
    terms = causes_of(ds)
    scale = max(float(np.max(np.abs(v))) for v in terms.values()) or 1.0
    work = terms.pop("motors")
    bottom: list[EnergyCurve] = [(_label("motor input", work[-1]), work, "", 2.2, False)]
    for name, values in terms.items():
        if np.max(np.abs(values)) > 1e-3 * scale or name == "rest":
            label = _label(cause_name(account, name), values[-1])
            bottom.append((label, values, _CAUSE_COLOURS[name], 1.4, name == "rest"))
    return (("power [W]", top), ("work and change of energy [J]", bottom))


def draw_energy(ds: xr.Dataset, account: EnergyAccount) -> Canvas:
    """Power by group of joints, and the work of the motors with where it went, over time."""
    time = ds["time"].values
    canvas, panels = sheet("Power and energy", [2.0, 2.8])
    for ax, (label, curves) in zip(panels, energy_curves(ds, account), strict=True):
        for name, values, colour, width, dashed in curves:
            style: Any = (0, (4, 1.6)) if dashed else "-"
            ink = colour or _INK
            ax.plot(time, values, color=ink, linewidth=width, linestyle=style, label=name)
        ax.set_ylabel(wrap(label), fontsize=FONT)
        legend(ax)
    panels[-1].set_xlabel("time [s]", fontsize=FONT)
    if time[-1] > time[0]:
        panels[-1].set_xlim(time[0], time[-1])
    return canvas


def role_colours(roles: Sequence[str]) -> dict[str, str]:
    """A colour for each role; roles of the robot's own take those that are free."""
    known = {role: ROLE_COLOURS[role] for role in roles if role in ROLE_COLOURS}
    free = [c for c in _OTHER_COLOURS if c not in known.values()]
    own = [role for role in roles if role not in known]
    return known | {role: free[k % len(free)] for k, role in enumerate(own)}


def draw_motors(account: EnergyAccount) -> Canvas:
    """A bar per motor: work spent and losses to the right, work returned to the left."""
    rows = account.motors
    canvas, (ax,) = sheet("Energy by motor", [0.55 + 0.23 * max(len(rows), 1)])
    plain(ax)
    y = np.arange(len(rows))
    left = np.zeros(len(rows))
    for field, name, colour in _PARTS:
        values = np.nan_to_num([getattr(m, field) for m in rows])
        if np.any(np.abs(values) > 0):
            ax.barh(y, values, left=left, height=0.7, color=colour, label=name)
        left = left + values
    back = np.array([m.returned for m in rows])
    if np.any(back > 1e-3 * max(float(left.max(initial=0.0)), 1e-12)):
        ax.barh(y, -back, height=0.7, color="#9aa3ab", label="mechanical, returned")
    ax.set_yticks(y, [m.name for m in rows], fontsize=FONT - 1.5)
    ax.invert_yaxis()
    ax.axvline(0.0, color="#8a8a8a", linewidth=0.8)
    ax.set_xlabel("energy [J]", fontsize=FONT)
    legend(ax)
    return canvas


def _label(name: str, value: float) -> str:
    return f"{name}: {quantity(float(value), 'J', 3)}"


def cause_name(account: EnergyAccount, name: str) -> str:
    """What a cause is called; what is left is friction and impacts where there is hard ground."""
    if name == "rest" and not account.soil_only:
        return "friction, impacts, rest"
    return CAUSES[name]


# --- words


def balance_words(account: EnergyAccount) -> str:
    """How well the account closes."""
    left = f"{100 * abs(account.closure):.2g} % of the energy spent is unaccounted for"
    if account.soil_only:
        return f"{left}: the error of the energy balance."
    return f"{left}: friction and impacts on hard ground, and the error of the energy balance."


def assumption_words(account: EnergyAccount) -> str:
    """What happens to work that is returned to the motors."""
    if math.isfinite(account.electrical):
        text = "Work returned to a motor feeds its losses; beyond them it is fed back"
        return f"{text} or burnt, as the motors say."
    fate = "counts as recuperated" if account.regeneration else "is lost, not recuperated"
    return f"Work returned to a motor (braking) {fate}."


def number_rows(account: EnergyAccount) -> list[tuple[str, str]]:
    """The numbers of the whole robot, with units."""
    a = account
    rows = [
        ("span", f"{number(a.start, 4)} to {number(a.end, 4)} s"),
        ("path length of the base", quantity(a.path_length, "m", 4)),
        ("net displacement along the heading", quantity(a.net_displacement, "m", 4)),
        ("elevation gain", quantity(a.elevation_gain, "m", 4)),
        ("work of the motors, spent / returned",
         f"{quantity(a.total.spent, 'J', 4)} / {quantity(a.total.returned, 'J', 4)}"),
        ("mean / peak mechanical power",
         f"{quantity(a.total.mean_power, 'W', 3)} / {quantity(a.total.peak_power, 'W', 3)}"),
        ("mechanical energy per metre of path", quantity(a.per_metre(a.mechanical), "J/m", 4)),
        ("and of net displacement",
         quantity(a.per_metre(a.mechanical, a.net_displacement), "J/m", 4)),
        ("cost of transport, mechanical (specific resistance)", number(a.specific_resistance, 3)),
    ]  # fmt: skip
    if math.isfinite(a.electrical):
        t = a.total
        rows += [
            ("electrical energy", quantity(a.electrical, "J", 4)),
            ("copper loss / gear loss / dissipated", " / ".join(
                quantity(v, "J", 3) for v in (t.copper, t.gear, t.burnt))),
            ("electrical energy per metre of path", quantity(a.per_metre(a.electrical), "J/m", 4)),
            ("and of net displacement",
             quantity(a.per_metre(a.electrical, a.net_displacement), "J/m", 4)),
            ("cost of transport, electrical", number(a.cost_of_transport, 3)),
        ]  # fmt: skip
    if a.weight == 0:  # what floats is not transported
        of_transport = (
            "elevation gain",
            "mechanical energy per",
            "and of net",
            "cost of",
            "electrical energy per",
        )
        rows = [row for row in rows if not row[0].startswith(of_transport)]
    if abs(a.sampling) > 0.02:
        rows.append((
            "remark", f"the record period is long: for single motors, {100 * abs(a.sampling):.2g} "
                      f"% of the "
            "work is missed or counted twice; choose a shorter run.record_period",
        ))  # fmt: skip
    return rows


def cause_rows(account: EnergyAccount) -> list[tuple[str, float, float]]:
    """Cause, energy [J] and share of the motors' work; what is nothing is left out.

    Where motors take back nearly all they spend (a robot that only shifts its weight), what is left
    is no measure: there are no shares.
    """
    scale = max(abs(account.work), *(abs(v) for v in account.causes.values()), 1e-12)
    whole = account.work if abs(account.work) > 0.05 * account.total.spent else math.nan
    return [
        (cause_name(account, name), value, value / whole)
        for name, value in account.causes.items()
        if abs(value) > 1e-4 * scale or name == "rest"
    ]


# --- tables

_HEADS = ("mean [W]", "peak [W]", "spent [J]", "returned [J]")
_ELECTRICAL_HEADS = ("electrical [J]", "copper [J]", "gear [J]", "burnt [J]")


def _heads(account: EnergyAccount) -> tuple[str, ...]:
    known = any(m.has_model for m in account.motors)
    return _HEADS + (_ELECTRICAL_HEADS if known else ())


def _cells(motor: MotorEnergy, count: int) -> list[str]:
    values = (
        motor.mean_power, motor.peak_power, motor.spent, motor.returned,
        motor.electrical, motor.copper, motor.gear, motor.burnt,
    )  # fmt: skip
    return [number(0.0 if abs(v) < 5e-7 else v, 3) for v in values[:count]]


def _lines(account: EnergyAccount) -> list[tuple[str, MotorEnergy]]:
    """Motors, groups of several, and all."""
    lines = [(m.name, m) for m in account.motors]
    lines += [(f"all {g.name}", g) for g in account.groups if len(account.groups) > 1]
    return [*lines, ("all", account.total)]


def energy_tables(account: EnergyAccount) -> list[Table]:
    """Motors, causes and numbers for the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    def titled(title: str, heads: Sequence[str]) -> Table:
        out = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for k, head in enumerate(heads):
            out.add_column(Text(head), justify="right" if k else "left", no_wrap=True)
        return out

    heads = _heads(account)
    motors = titled("By motor", ("motor", *heads))
    for name, motor in _lines(account):
        motors.add_row(Text(name), *_cells(motor, len(heads)))
    causes = titled("Energy budget of the motors", ("cause", "energy [J]", "share [%]"))
    for name, value, share in cause_rows(account):
        causes.add_row(Text(name), number(value, 4), number(100 * share, 3))
    causes.add_row("work of the motors", number(account.work, 4), "100")
    whole = titled("The robot", ("", ""))
    for name, text in number_rows(account):
        whole.add_row(Text(name), Text(text))
    return [motors, causes, whole]


def energy_section(ds: xr.Dataset) -> str:
    """The section of a report, as HTML; empty for runs in which nothing drives."""
    account = account_of(ds)
    if account is None:
        return ""
    heads = _heads(account)
    causes = [
        (name, number(value, 4), number(100 * share, 3))
        for name, value, share in cause_rows(account)
    ]
    motors = [(name, *_cells(motor, len(heads))) for name, motor in _lines(account)]
    words = f"{balance_words(account)} {assumption_words(account)}"
    return joined(
        pairs(number_rows(account)),
        headed(
            "Energy budget of the motors",
            joined(table(("cause", "energy [J]", "share [%]"), causes, id="causes"),
                   paragraph(words, "soft")),
        ),
        headed("By motor", table(("motor", *heads), motors, id="motors")),
    )  # fmt: skip


def account_of(ds: xr.Dataset) -> EnergyAccount | None:
    """The account of a run that moves itself; none of any other."""
    from marsyard.errors import InputError
    from marsyard.results.energy import energy_account

    try:
        account = energy_account(ds)
    except (InputError, KeyError):
        return None
    return account if account.moves else None


# --- files


def write_energy_csv(account: EnergyAccount, path: str | Path) -> Path:
    """Motors, groups and all of them, a row each; SI."""
    columns = (
        "mean_power_W", "peak_power_W", "spent_J", "returned_J", "electrical_J", "copper_J",
        "gear_J", "burnt_J",
    )  # fmt: skip
    path = Path(path)
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["what", "role", *columns])
        for name, m in _lines(account):
            values = [getattr(m, c.rsplit("_", 1)[0]) for c in columns]
            out.writerow([name, m.role, *(repr(v) if math.isfinite(v) else "" for v in values)])
    return path
