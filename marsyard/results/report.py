"""The report of a run: one HTML file that stands alone, and the table of checks on the terminal.

`report.html` carries its pictures and style inside, needs no script and loads nothing.
"""

from __future__ import annotations

import base64
import math
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.page import STYLE, escape, number, pairs, quantity, tiles, vector
from marsyard.files import parse_json
from marsyard.files.replacing import replacing
from marsyard.ground.soil import changed_numbers
from marsyard.interaction.about import law_of_hard_ground
from marsyard.results.checks import CheckResult
from marsyard.results.energy_figures import energy_section
from marsyard.results.questions import Answer, questions_section
from marsyard.results.soil_report import soil_section
from marsyard.results.timeline import timeline_section
from marsyard.scenario.drive import command_kind
from marsyard.scenario.fmu import FmuLaw
from marsyard.scenario.schema import Part, Scenario, SpeedLaw

if TYPE_CHECKING:
    from rich.table import Table

    from marsyard.results.ground_file import Ground
    from marsyard.results.plots import FigureFile

FILE_NAME = "report.html"
_CLASS = {"pass": "pass", "fail": "fail"}
_MARK = {"pass": "✓ pass", "fail": "✗ fail"}
_SCHEMES = {
    "moreau_jean": "Moreau-Jean", "semi_implicit": "semi-implicit Euler",
    "implicit_damping": "implicit in damping",
}  # fmt: skip


def write_report(
    folder: str | Path,
    ds: xr.Dataset,
    scenario: Scenario,
    checks: Sequence[CheckResult],
    figures: Sequence[FigureFile],
    run_info: Mapping[str, Any] | None = None,
    ground: Ground | None = None,
    results: str = "",
    answers: Sequence[Answer] = (),
) -> Path:
    """Write `report.html` into `folder`, whole or not at all.

    `run_info` may hold `scenario` (its name), `overrides` (a list of "key=value"), `steps`,
    `wall_time` [s] of the loop, `compile_time` [s], `started`, `versions` (a mapping) and
    `convergence` with its section `convergence_html`; what is missing is looked up in `ds.attrs`.
    `ground` is the soil as the run left it, `results` the section of post-processing functions.
    """
    info = {**ds.attrs, **(run_info or {})}
    title = scenario.title or str(info.get("title") or info.get("scenario") or "A run")
    sections = [
        _head(title, ds, scenario, checks, info),
        section("Questions", questions_section(answers)),
        section("Checks", checks_section(checks)),
        section("Convergence", str(info.get("convergence_html") or "")),
        section("Commands", timeline_section(ds)),
        section("Results of own functions", results),
        section("Power and energy", energy_section(ds)),
        section("Soil", soil_section(ds, scenario, ground)),
        section("What was run", parameters_section(scenario, info)),
        section("Figures", figures_section(figures)),
        section("Solver health", _health(ds, info)),
        section("Speed", pairs(_speed_rows(ds, info))),
        section("Versions", pairs(versions(info))),
    ]
    return write_page(folder, title, sections)


def write_page(folder: str | Path, title: str, sections: Sequence[str]) -> Path:
    """Write `report.html` from its sections, with the style inside, whole or not at all."""
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} – marsyard</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(s for s in sections if s)
        + "\n</main>\n</body>\n</html>\n"
    )
    path = Path(folder) / FILE_NAME
    with replacing(path) as part:
        part.write_text(page, encoding="utf-8")
    return path


def check_table(checks: Sequence[CheckResult]) -> Table:
    """The checks as a table for the terminal; the report also has their sources."""
    from rich.table import Table
    from rich.text import Text

    colours = {"pass": "green", "fail": "bold red"}
    table = Table(title="Checks", title_justify="left", expand=False)
    for name in ("check", "computed", "expected", "± tolerance", "unit", "verdict"):
        numeric = name in ("computed", "expected", "± tolerance")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for check in checks:
        table.add_row(
            Text(check.name),
            number(check.computed),
            number(check.expected),
            number(check.tolerance),
            Text(check.unit),
            Text(
                check.verdict + (f": {check.reason}" if check.reason else ""),
                style=colours.get(check.verdict, "yellow"),
            ),
        )
    return table


# --- sections of the page


def section(title: str, body: str) -> str:
    """A headed part of a page; nothing where there is no body."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def intro(title: str, scenario: Scenario, info: Mapping[str, Any]) -> str:
    """Name, title, description and sources."""
    name = str(info.get("scenario") or "")
    parts = [f'<p class="kicker">marsyard{" · " + escape(name) if name else ""}</p>']
    parts.append(f"<h1>{escape(title)}</h1>")
    if scenario.description:
        paragraphs = scenario.description.strip().split("\n\n")
        parts += [f'<p class="text">{escape(" ".join(p.split()))}</p>' for p in paragraphs]
    if scenario.sources:
        items = "; ".join(escape(s) for s in scenario.sources)
        parts.append(f'<p class="soft">Source: {items}</p>')
    return "".join(parts)


def _head(
    title: str,
    ds: xr.Dataset,
    scenario: Scenario,
    checks: Sequence[CheckResult],
    info: Mapping[str, Any],
) -> str:
    parts = [intro(title, scenario, info)]
    stopped = info.get("stopped") or ds.attrs.get("stopped")
    if stopped:
        parts.append(
            f'<div class="alarm" role="alert">The run diverged and {escape(stopped)}. What was '
            "recorded until then is shown.</div>"
        )
    parts += [f'<div class="alarm">Warning: {escape(w)}.</div>' for w in info.get("warnings") or ()]
    bad = unconverged(ds)
    if bad:
        parts.append(
            f'<div class="alarm" role="alert">{bad} of the steps did not converge: in these the '
            "contact problem was left with a residual above its tolerance. Results after the "
            "first of them are not to be trusted; see Solver health.</div>"
        )
    passed = sum(c.ok for c in checks)
    rows = [("simulated", quantity(_span(ds), "s"))]
    if any(c.judged for c in checks):
        judged = sum(c.judged for c in checks)
        rows.insert(0, ("checks passed", f"{passed} of {judged}"))
    speed = dict(_speed_rows(ds, info))
    rows += [(key, speed[key]) for key in ("times real time", "time per step") if key in speed]
    parts.append(tiles(rows))
    return f"<header>{''.join(parts)}</header>"


def checks_section(checks: Sequence[CheckResult]) -> str:
    if not checks:
        return '<p class="soft">This scenario lists no checks.</p>'
    rows = []
    for c in checks:
        difference = None if c.computed is None else c.computed - c.expected
        reason = f'<br><span class="soft">{escape(c.reason)}</span>' if c.reason else ""
        rows.append(
            f"<tr><td>{escape(c.name)}{reason}</td>"
            f'<td class="num">{number(c.computed)}</td><td class="num">{number(c.expected)}</td>'
            f'<td class="num">{number(difference, 3)}</td>'
            f'<td class="num">± {number(c.tolerance)}</td><td>{escape(c.unit)}</td>'
            f'<td><span class="verdict {_CLASS.get(c.verdict, "open")}">'
            f"{escape(_MARK.get(c.verdict, '– ' + c.verdict))}</span></td>"
            f'<td class="soft">{escape(c.source)}</td></tr>'
        )
    return (
        '<div class="scroll"><table id="checks"><thead><tr><th>check</th>'
        '<th class="num">computed</th><th class="num">published or exact</th>'
        '<th class="num">difference</th><th class="num">tolerance</th><th>unit</th>'
        f"<th>verdict</th><th>source</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def figures_section(figures: Sequence[FigureFile]) -> str:
    """All figures with their captions, numbered."""
    return "".join(_figure(i, f) for i, f in enumerate(figures, 1))


def _figure(index: int, figure: FigureFile) -> str:
    data = base64.b64encode(Path(figure.path).read_bytes()).decode("ascii")
    note = f" {escape(figure.caption)}" if figure.caption else ""
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{escape(figure.title)}">'
        f"<figcaption><b>Figure {index}: {escape(figure.title)}.</b>{note}</figcaption></figure>"
    )


# --- parameters


def parameters_section(scenario: Scenario, info: Mapping[str, Any]) -> str:
    """Everything that was set, in groups."""
    robot, run, contact = scenario.robot, scenario.run, scenario.interaction
    own = "that of the model"
    attitude = robot.attitude and [math.degrees(a) for a in robot.attitude]
    start = [
        ("robot", robot.name),
        ("start position", vector(robot.position, "m") if robot.position else own),
        ("roll, pitch, yaw", vector(attitude, "°") if attitude else own),
        ("start velocity", vector(robot.velocity, "m/s")),
        ("start angular velocity", vector(robot.angular_velocity, "rad/s")),
        ("wheel shape", robot.wheel_shape or "that of the robot"),
        ("gravity", quantity(scenario.gravity, "m/s²")),
    ]
    if robot.settle:
        start.append(("placed", "on the ground before the start"))
    start += [(f"start angle {k}", quantity(v, "rad")) for k, v in robot.joints.items()]
    start += [(f"start rate {k}", quantity(v, "rad/s")) for k, v in robot.joint_rates.items()]
    start += [
        (
            f"spring {k}",
            f"{quantity(s.stiffness, 'N·m/rad')}, damping {quantity(s.damping, 'N·m·s/rad')}",
        )
        for k, s in robot.springs.items()
    ]

    # laws tell their own numbers, but for MuJoCo's
    acted = info.get("laws") or ()
    hard, about = info.get("hard_contact", True), law_of_hard_ground(scenario)
    law: list[tuple[str, str]] = [("law on hard ground", contact.law)]
    if hard and about.is_mujocos:
        law.append(("friction μ", number(contact.friction)))
        law += [(f"on {name}", _differences(s)) for name, s in contact.surfaces.items()]
    law += _elastic_layers(contact)
    if hard and about.gives_rows:
        law += [
            ("solver", contact.solver.method),
            ("solver tolerance", number(contact.solver.tolerance)),
            ("most iterations", str(contact.solver.max_iterations)),
        ]
    time = [
        ("duration", quantity(run.duration, "s")),
        ("step h", quantity(run.step, "s")),
        ("control period", quantity(run.control_period, "s")),
        ("record period", quantity(run.record_period, "s")),
        ("scheme", _SCHEMES.get(run.integrator, run.integrator)),
    ]
    if run.integrator == "moreau_jean":
        time += [
            ("θ", number(run.theta)),
            ("activation γ", number(run.activation)),
            ("position projection", "yes" if run.projection else "no"),
        ]
    ground = [(str(g.name), _ground(g)) for g in scenario.ground] or [("ground", "none")]
    control = [(_joints(t.joints), _motor(t)) for t in scenario.control]
    blocks = [("Robot and start", start), ("Contact", law), ("Time", time), ("Ground", ground)]
    blocks += [(title, [(k, _told(v, unit)) for k, v, unit in rows]) for title, rows in acted]
    if control:
        blocks.append(("Control", control))
    if scenario.motors:
        blocks.append(("Motors", [(k, _differences(m)) for k, m in scenario.motors.items()]))
    if scenario.drive is not None:
        blocks.append(("Drive", _drive(scenario.drive)))
    if scenario.tethers:
        blocks.append(("Tethers", [(t.name, _tether(t)) for t in scenario.tethers]))
    if scenario.parameters:
        named = [(k, number(v)) for k, v in scenario.parameters.items()]
        blocks.append(("Parameters (SI)", named))
    if info.get("modules"):
        modules = list(info["modules"].items())
        blocks.append(("Own modules", modules))
    if info.get("overrides"):
        changes = info["overrides"]
        changes = [changes] if isinstance(changes, str) else changes
        blocks.append(("Changed on the command line", [("set", str(c)) for c in changes]))
    body = "".join(f"<div><h3>{escape(name)}</h3>{pairs(rows)}</div>" for name, rows in blocks)
    return f'<div class="columns">{body}</div>'


def _told(value: Any, unit: str) -> str:
    """A number with its unit, or words."""
    return str(value) if isinstance(value, str) else quantity(float(value), unit)


def _elastic_layers(contact: Any) -> list[tuple[str, str]]:
    """Elastic layers of polygonal contact: of the ground under its law, and of each pair."""
    polygonal = contact.polygonal
    rows = []
    if contact.law == "polygonal":
        rows.append(("layer on the ground", _elastic_layer(polygonal.layer, contact.friction)))
    for pair in polygonal.pairs:
        name = pair.name or f"{pair.faces}-{pair.against}"
        layer = _elastic_layer(pair.layer or polygonal.layer, contact.friction)
        rows.append((f"pair {name}", f"faces of {pair.faces} against {pair.against}, {layer}"))
    return rows


def _elastic_layer(given: Any, friction: float) -> str:
    from marsyard.interaction.polygonal.world import contact_layer

    layer = contact_layer(given, friction)
    text = f"stiffness {quantity(layer.stiffness, 'Pa/m')}, damping "
    text += f"{quantity(layer.damping, 'Pa·s/m')}, friction {number(layer.slip)}"
    return text if layer.stick == layer.slip else f"{text}, sticking {number(layer.stick)}"


def _differences(part: Part) -> str:
    set_here = part.model_dump(exclude_none=True)
    return (
        ", ".join(f"{k.replace('_', ' ')} {number(v)}" for k, v in set_here.items()) or "as above"
    )


def _ground(ground: Any) -> str:
    if ground.kind == "plane":
        text = f"plane through {vector(ground.through, 'm')}"
        if ground.slope:
            text += f", slope {quantity(math.degrees(ground.slope), '°')}"
            text += f" rising towards heading {quantity(math.degrees(ground.uphill), '°')}"
        return text
    if ground.kind == "sphere":
        return f"sphere, radius {quantity(ground.radius, 'm')}, centre {vector(ground.centre, 'm')}"
    if ground.kind == "box":
        return f"box {vector(ground.size, 'm')}, centre {vector(ground.centre, 'm')}"
    if ground.kind == "mesh":
        shape = ground.file or f"{len(ground.triangles)} triangles"
        edge = ground.edge_normal
        return f"mesh, {shape}" + (f", normal on edges {vector(edge)}" if edge else "")
    if ground.kind == "rocks":
        return _rocks(ground)
    if ground.kind == "terrain":
        terrain = ground.terrain if isinstance(ground.terrain, str) else _terrain(ground.terrain)
        soil = ground.soil if isinstance(ground.soil, str | None) else _changed(ground.soil)
        soil = f", soil {soil}" if soil else ""
        return f"terrain {terrain}{soil}, grid {quantity(ground.spacing, 'm')}"
    return str(ground.kind)


def _rocks(ground: Any) -> str:
    """A field of rocks and single ones."""
    text = []
    if ground.field is not None:
        field = ground.field
        text.append(
            f"a field that covers {100 * field.coverage:g} %, {quantity(field.smallest, 'm')} to "
            f"{quantity(field.largest, 'm')} wide, {100 * field.buried:g} % buried"
        )
    if ground.rocks:
        text.append(f"{len(ground.rocks)} placed singly")
    return f"rocks: {', and '.join(text)}; seed {ground.seed}"


def _terrain(terrain: Any) -> str:
    """A terrain by the name that it was read from, or by its layers."""
    if terrain.name:
        return Path(terrain.name).name
    return ", ".join(str(layer.kind) for layer in terrain.layers) or "level"


def _changed(soil: Mapping[str, Any]) -> str:
    """A soil by name, with what was changed of it."""
    changed = changed_numbers(soil)
    changes = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in changed.items())
    name = str(soil.get("name", "given here"))
    return f"{name} ({changes})" if changes else name


def _tether(tether: Any) -> str:
    to = vector(tether.anchor, "m") if tether.anchor else f"{quantity(tether.behind, 'm')} behind"
    return f"to {to}, stiffness {quantity(tether.stiffness, 'N/m')}"


def _joints(joints: str | tuple[str, ...]) -> str:
    return joints if isinstance(joints, str) else ", ".join(joints)


#: commands that are told one by one
_MOST_COMMANDS = 50
_SHARES = {
    "rates": "rates of plane kinematics",
    "slip": "rates that make slips agree",
}


def _drive(drive: Any) -> list[tuple[str, str]]:
    """The commands of a drive, and how they are carried out."""
    shown = drive.commands[:_MOST_COMMANDS]
    rows = [(f"command {k}", command_text(c)) for k, c in enumerate(shown)]
    if len(drive.commands) > len(shown):
        rows.append(("more commands", str(len(drive.commands) - len(shown))))
    rows += [("aborted if", text) for text in drive.abort_limits.conditions().values()]
    follow = drive.following
    rows += [
        ("control period", quantity(drive.period, "s")),
        ("steering", drive.mode.replace("_", " ")),
        ("path following", follow.law.replace("_", " ")),
        ("slip compensation", "yes" if follow.compensate else "no"),
        ("wheels", _SHARES[drive.share]),
        ("knows its pose by", drive.sense.by.replace("_", " ")),
    ]
    return rows


def command_text(command: Any) -> str:
    text = _what(command)
    for name, word in (("until", "until"), ("abort_if", "aborted if")):
        condition = getattr(command, name)
        text += f", {word} {condition}" if condition else ""
    return text if command.timeout is None else f"{text}, at most {quantity(command.timeout, 's')}"


def _what(command: Any) -> str:
    """A command in words, without its conditions."""
    kind = command_kind(command)
    at = f" at {quantity(command.speed, 'm/s')}" if hasattr(command, "speed") else ""
    if kind == "path":
        return f"path of {len(command.path)} points to {vector(command.path[-1], 'm')}{at}"
    if kind == "goal":
        return f"goal {vector(command.goal, 'm')}{at}"
    if kind == "arc":
        shape = f"arc of curvature {quantity(command.arc.bend, '1/m')}"
        return f"{shape}, {quantity(command.arc.way, 'm')} long{at}"
    if kind == "turn":
        to, angle = ("by", command.turn) if command.turn is not None else ("to", command.turn_to)
        return f"turn {to} {quantity(math.degrees(angle), '°')}"
    if kind == "crab":
        direction = quantity(math.degrees(command.crab), "°")
        return f"crab towards {direction}, {quantity(command.length, 'm')}{at}"
    if kind == "steer":
        turn = quantity(math.degrees(command.turn_rate), "°/s")
        held = f"steer at {quantity(command.steer, 'm/s')} and {turn}"
        return f"{held} for {quantity(command.duration, 's')}"
    if kind == "wait":
        wait = command.wait
        return f"wait until {wait}" if isinstance(wait, str) else f"wait {quantity(wait, 's')}"
    if kind == "posture":
        posture = command.posture
        return f"posture {posture if isinstance(posture, str) else ', '.join(posture)}"
    return f"motors for {quantity(command.duration, 's')}"


def _motor(law: Any) -> str:
    """A law of torque or speed, or an FMU, in words."""
    if isinstance(law, FmuLaw):
        given = "; ".join(f"{name} → {command}" for name, command in law.outputs.items())
        return f"{Path(law.file).name}: {given or 'commands nothing'}"
    end = "to the end" if law.end is None else f"to {quantity(law.end, 's')}"
    when = f"from {quantity(law.start, 's')} {end}"
    if isinstance(law, SpeedLaw):
        speed = law.speed if isinstance(law.speed, str) else number(law.speed)
        limit = "" if law.limit is None else f", within ± {number(law.limit)}"
        return f"speed {speed}, gain {number(law.gain)}{limit}, {when}"
    torque = law.torque if isinstance(law.torque, str) else number(law.torque)
    return f"torque {torque} N·m {when}"


# --- health, speed, versions


def unconverged(ds: xr.Dataset) -> int:
    """Number of steps whose contact problem did not converge."""
    return int(np.nansum(ds["unconverged"].values)) if "unconverged" in ds else 0


def _span(ds: xr.Dataset) -> float:
    time = ds["time"].values
    return float(time[-1] - time[0])


def _steps(ds: xr.Dataset, info: Mapping[str, Any]) -> int | None:
    if info.get("steps") is not None:
        return int(info["steps"])
    return round(_span(ds) / float(info["step"])) if info.get("step") else None


def _largest(ds: xr.Dataset, name: str) -> float | None:
    values = ds[name].values if name in ds else np.array([np.nan])
    return float(np.nanmax(values)) if np.isfinite(values).any() else None


def _mean(ds: xr.Dataset, name: str) -> float | None:
    values = ds[name].values if name in ds else np.array([np.nan])
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def _health(ds: xr.Dataset, info: Mapping[str, Any]) -> str:
    bad, steps = unconverged(ds), _steps(ds, info)
    rows = [
        ("steps", "–" if steps is None else f"{steps:,}".replace(",", " ")),
        ("contacts, most / mean", f"{number(_largest(ds, 'contacts'))} / "
         f"{number(_mean(ds, 'contacts'), 3)}"),
        ("iterations, most / mean", f"{number(_largest(ds, 'solver_iterations'))} / "
         f"{number(_mean(ds, 'solver_iterations'), 3)}"),
        ("largest residual", number(_largest(ds, "solver_residual"), 3)),
        ("steps not converged", f"{bad}" + ("" if "unconverged" in ds else " (not recorded)")),
        ("largest penetration", quantity(_largest(ds, "penetration"), "m", 3)),
        ("in grid and step", str(info.get("convergence") or "not checked (--check-convergence)")),
    ]  # fmt: skip
    alarm = ""
    if bad:
        first = float(ds["time"].values[np.flatnonzero(ds["unconverged"].values > 0)[0]])
        of = f" of {steps}" if steps else ""
        alarm = (
            f'<div class="alarm">{bad} unconverged steps{of}, the first before '
            f"t = {quantity(first, 's')}.</div>"
        )
    return alarm + pairs(rows + _energy_rows(ds))


def _energy_rows(ds: xr.Dataset) -> list[tuple[str, str]]:
    """Where the energy went: change of state = work of the motors − what was dissipated."""
    if "energy_kinetic" not in ds or "energy_potential" not in ds:
        return []
    energy = ds["energy_kinetic"].values + ds["energy_potential"].values
    rows = [
        ("mechanical energy at the start", quantity(energy[0], "J")),
        ("mechanical energy at the end", quantity(energy[-1], "J")),
    ]
    work = 0.0
    if "energy_motors" in ds:
        work = float(ds["energy_motors"].values[-1] - ds["energy_motors"].values[0])
        rows.append(("work of the motors", quantity(work, "J", 4)))
    elif "motor_power" in ds:
        power = np.nansum(ds["motor_power"].transpose("time", ...).values, axis=1)
        work = float(np.trapezoid(power, ds["time"].values))
        rows.append(("work of the motors", quantity(work, "J", 4)))
    lost = energy[0] + work - energy[-1]
    if "energy_soil" in ds:
        soil = float(ds["energy_soil"].values[-1])
        rows.append(("taken by the soil", quantity(soil, "J", 4)))
        lost -= soil
    rows.append(("dissipated (impact, friction, damping)", quantity(lost, "J", 4)))
    return rows


def _speed_rows(ds: xr.Dataset, info: Mapping[str, Any]) -> list[tuple[str, str]]:
    wall, steps = info.get("wall_time"), _steps(ds, info)
    rows: list[tuple[str, str]] = []
    if wall:
        wall = float(wall)
        rows += [
            ("simulated time", quantity(_span(ds), "s")),
            ("wall time of the loop", quantity(wall, "s", 4)),
            ("times real time", f"{_span(ds) / wall:.3g} ×"),
        ]
        if steps:
            rows += [
                ("steps per second", f"{steps / wall:,.0f}".replace(",", " ")),
                ("time per step", quantity(1e6 * wall / steps, "µs", 3)),
            ]
    if info.get("compile_time") is not None:
        rows.append(("compiling or loading code", quantity(float(info["compile_time"]), "s", 3)))
    if info.get("started"):
        rows.append(("started", str(info["started"])))
    return rows or [("wall time", "not recorded")]


def versions(info: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Versions of what made the run; of this machine where the run does not say.

    A run says them as a mapping `versions` (or its JSON), or one by one, `mujoco_version`.
    """
    info = info or {}
    said = info.get("versions") or {}
    if isinstance(said, str):
        said = parse_json(said, "versions")
    rows = {}
    for package in ("marsyard", "mujoco", "numba", "numpy"):
        try:
            rows[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            rows[package] = "not installed"
    rows["python"] = platform.python_version()
    rows["platform"] = platform.platform()
    rows |= {k: str(info[f"{k}_version"]) for k in rows if f"{k}_version" in info}
    return list({**rows, **{str(k): str(v) for k, v in said.items()}}.items())
