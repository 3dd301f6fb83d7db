"""Scenario and parameters, in groups of names and values, for reports: everything that a scenario
sets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marsyard.drawing.page import columns, number, pairs, quantity, vector
from marsyard.ground.soil import changed_numbers
from marsyard.interaction.about import SOIL, WHEEL, law_of_hard_ground, laws
from marsyard.scenario.drive import command_kind
from marsyard.scenario.fmu import FmuLaw
from marsyard.scenario.schema import Part, Scenario, SpeedLaw

_SCHEMES = {
    "moreau_jean": "Moreau-Jean", "semi_implicit": "semi-implicit Euler",
    "implicit_damping": "implicit in damping",
}  # fmt: skip


def parameters_section(scenario: Scenario, info: Mapping[str, Any]) -> str:
    """Everything that was set, in groups."""
    robot, run, contact = scenario.robot, scenario.run, scenario.interaction
    given, slides = info.get("given") or {}, info.get("slides") or ()

    def as_written(path: str, text: str) -> str:
        """As the user wrote it, units and all, else the text."""
        return str(given.get(path, text))

    own = "as in the model"
    attitude = robot.attitude and [math.degrees(a) for a in robot.attitude]
    start = [
        ("robot", Path(robot.name).name),
        ("start position", vector(robot.position, "m") if robot.position else own),
        ("roll, pitch, yaw", vector(attitude, "°") if attitude else own),
        ("start velocity", vector(robot.velocity, "m/s")),
        ("start angular velocity", vector(robot.angular_velocity, "rad/s")),
        ("wheel shape", robot.wheel_shape or "as in the robot"),
        ("gravity", as_written("gravity", quantity(scenario.gravity, "m/s²"))),
    ]
    if robot.settle:
        start.append(("placed", "placed on the ground before the start"))
    start += [
        (f"start of {k}", as_written(f"robot.joints.{k}", _place(v, k in slides)))
        for k, v in robot.joints.items()
    ]
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
    law = _laws(scenario, hard)
    if hard and about.is_mujocos:
        law.append(("friction μ", number(contact.friction)))
        law += [(f"on {name}", _differences(s)) for name, s in contact.surfaces.items()]
    law += _elastic_layers(contact)
    if hard and about.gives_rows:
        law += [
            ("solver", contact.solver.method),
            ("solver tolerance", number(contact.solver.tolerance)),
            ("maximum iterations", str(contact.solver.max_iterations)),
        ]
    time = [
        ("duration", as_written("run.duration", _time(run.duration))),
        ("step h", as_written("run.step", _time(run.step))),
        ("control period", as_written("run.control_period", _time(run.control_period))),
        ("record period", as_written("run.record_period", _time(run.record_period))),
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
    blocks += [(title, [(k, _value_text(v, unit)) for k, v, unit in rows]) for title, rows in acted]
    if control:
        blocks.append(("Control", control))
    if scenario.motors:
        blocks.append(("Motors", [(k, _differences(m)) for k, m in scenario.motors.items()]))
    if scenario.drive is not None:
        blocks.append(("Drive", _drive(scenario.drive)))
    if scenario.tethers:
        blocks.append(("Tethers", [(t.name, _tether(t)) for t in scenario.tethers]))
    if scenario.parameters:
        named = [
            (k, as_written(f"parameters.{k}", number(v))) for k, v in scenario.parameters.items()
        ]
        blocks.append(("Parameters (SI where they have no unit)", named))
    if info.get("modules"):
        modules = list(info["modules"].items())
        blocks.append(("Custom modules", modules))
    if info.get("overrides"):
        changes = info["overrides"]
        changes = [changes] if isinstance(changes, str) else changes
        blocks.append(("Command-line changes", [("set", str(c)) for c in changes]))
    return columns((name, pairs(rows)) for name, rows in blocks)


def _laws(scenario: Scenario, hard: bool) -> list[tuple[str, str]]:
    """The laws that acted, by their titles: on hard ground, in soil, under wheels."""
    contact = scenario.interaction
    rows = []
    if hard:
        rows.append(
            ("contact law on hard ground", law_of_hard_ground(scenario).title or contact.law)
        )
    if any(g.kind == "terrain" for g in scenario.ground):
        rows.append(("soil model", laws(SOIL)[contact.soil.model].title))
        wheel = contact.wheel
        if wheel is not None:
            which = "all wheels" if wheel.wheels is None else ", ".join(wheel.wheels)
            rows.append(("wheel model", f"{laws(WHEEL)[wheel.model].title}, {which}"))
    return rows


def _place(value: float, slides: bool) -> str:
    """Where a joint starts: an angle, or the displacement of a slide."""
    return quantity(value, "m") if slides else quantity(math.degrees(value), "°")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return quantity(1000 * seconds, "ms") if 0 < seconds < 0.1 else quantity(seconds, "s")


def _value_text(value: Any, unit: str) -> str:
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
    "rates": "planar kinematics",
    "slip": "slip coordination between wheels",
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
        ("pose sensing", drive.sense.by.replace("_", " ")),
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
        return f"{shape}, {quantity(command.arc.distance, 'm')} long{at}"
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
        return f"{Path(law.file).name}: {given or 'no command'}"
    end = "to the end" if law.end is None else f"to {quantity(law.end, 's')}"
    when = f"from {quantity(law.start, 's')} {end}"
    if isinstance(law, SpeedLaw):
        speed = law.speed if isinstance(law.speed, str) else number(law.speed)
        limit = "" if law.limit is None else f", within ± {number(law.limit)}"
        return f"speed {speed}, gain {number(law.gain)}{limit}, {when}"
    torque = law.torque if isinstance(law.torque, str) else number(law.torque)
    return f"torque {torque} N·m {when}"
