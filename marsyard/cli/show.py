"""`marsyard show NAME`: show a scenario, rover, soil or ground with its sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from marsyard.cli import _complete


def show(
    name: str = typer.Argument(
        "",
        help="Name of a scenario, rover, soil or ground, or a file of a scenario or robot.",
        autocompletion=_complete.entries,
    ),
    schema: bool = typer.Option(
        False, "--schema", help="Print the JSON schema of scenario files (for editors)."
    ),
    everything: bool = typer.Option(
        False, "--all", help="Show every key of a scenario, including those at their defaults."
    ),
    plot: str = typer.Option(
        "", "--plot", help="Draw the curves of a soil among those of all soils, as a PNG file."
    ),
) -> None:
    """Show a scenario, rover, soil or ground: description, numbers, sources.

    \b
    Examples:
      marsyard show rt0448/test-4
      marsyard show exomars
      marsyard show lunar_nominal --plot soil.png
    """
    from marsyard import library
    from marsyard.errors import InputError, suggest

    if schema:
        import json

        from marsyard.scenario import Scenario

        typer.echo(json.dumps(Scenario.model_json_schema(), indent=2))
        return
    if plot and name not in library.names("soils"):
        raise InputError(
            f"show: --plot applies to soils only; {suggest(name, library.names('soils'))}"
        )
    for kind in ("rovers", "soils"):
        if name in library.names(kind):
            _show_entry(kind, name, library.read_yaml(library.path_of(kind, name)))
            if plot:
                _plot(name, plot)
            return
    if name in library.names("grounds"):
        _show_ground(name)
        return
    robot = _robot_file(name)
    if robot is not None:
        _show_entry("rovers", str(robot), _robot_data(robot))
        return
    names = [n for kind in library.KINDS for n in library.names(kind)]
    if name not in names and not name.endswith((".yaml", ".yml")):
        raise InputError(f"show: unknown name '{name}'; {suggest(name, names)}")
    _show_scenario(name, everything)


def _show_scenario(name: str, everything: bool) -> None:
    from marsyard.scenario import dump, scenario_data, validate

    scenario = validate(scenario_data(name), name)  # soils and grounds stay names
    typer.echo(f"{name}: {scenario.title}\n")
    typer.echo(scenario.description.strip() + "\n")
    _sources(scenario.sources)
    rest = scenario.model_copy(update={"description": "", "title": "", "sources": ()})
    said = ("title:", "description:", "sources:")
    lines = [t for t in dump(rest, everything).splitlines() if not t.startswith(said)]
    left_out = "" if everything else ", without keys at their defaults (--all shows them)"
    typer.echo(f"as read (SI){left_out}:\n")
    typer.echo("\n".join("  " + line for line in lines))


def _show_entry(kind: str, name: str, data: dict[str, Any]) -> None:
    typer.echo(f"{name} ({kind[:-1]}): {data.get('title', '')}\n")
    typer.echo(str(data.get("description", "")).strip() + "\n")
    if kind == "rovers":
        wheels = data.get("wheels", {})
        typer.echo(f"base body  {data.get('base', 'the first of the model')}")
        for wheel, w in wheels.items():
            typer.echo(f"wheel {wheel:<4} {_wheel(w)}, joint {w['joint']}")
        for foot, f in data.get("feet", {}).items():
            typer.echo(f"foot {foot:<5} body {f['body']}")
        for track, t in data.get("tracks", {}).items():
            typer.echo(f"track {track:<4} width {t['width']} m, sprocket {t['joint']}")
        for loop, c in data.get("loops", {}).items():
            ends = [str(c[k]) for k in ("body", "joint", "other") if k in c]
            typer.echo(f"loop {loop}: {c['kind']} {' to '.join(ends)}")
        for role, joints in data.get("roles", {}).items():
            typer.echo(f"role {role:<9} {', '.join(joints) or 'none'}")
        typer.echo("")
    if kind == "soils":
        _soil(name, data)
    for part in ("numbers", "extra", "triaxial"):
        _numbers(part, data.get(part) or {})
    if kind == "soils":
        _stand_ins(name)
    _sources(data.get("sources", ()))


def _soil(name: str, data: dict[str, Any]) -> None:
    """Its kind, at which gravity it was measured, and the laws its own numbers suffice for."""
    from marsyard.cli._soils import laws_text
    from marsyard.ground import load_soil

    soil, at = load_soil(name), data.get("measured_at")
    gravity = "any gravity" if soil.measured_at is None else f"{soil.measured_at:g} m/s²"
    source = f" ({at['source']})" if isinstance(at, dict) and at.get("source") else ""
    typer.echo(f"kind         {soil.kind or 'none'}")
    typer.echo(f"measured at  {gravity}{source}")
    typer.echo(f"laws         {laws_text(name)}\n")


def _stand_ins(name: str) -> None:
    """What laws get that ask for a number the soil does not give."""
    from marsyard.ground import load_soil
    from marsyard.ground.soil import NUMBERS, number_text

    soil = load_soil(name)
    found = {n: t for n in NUMBERS if (t := soil.typical(n)) is not None}
    if found:
        typer.echo(f"not given; typical of {soil.kind or 'soil'}, used with a warning")
        width = max(len(n) for n in found)
        for n, t in found.items():
            typer.echo(
                f"  {n:<{width}}  {number_text(n, t.value)}  range {t.low:g} to {t.high:g}  "
                f"[assumed] {t.source}"
            )
        typer.echo("")


def _robot_file(name: str) -> Path | None:
    """The file of a robot that `name` stands for: robot.yaml, its folder, MJCF or URDF."""
    path = Path(name)
    if path.suffix in (".urdf", ".xml") and path.exists():
        return path
    path = path / "robot.yaml" if path.is_dir() else path
    if not name or path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    from marsyard import library

    data = library.read_yaml(path)
    return path if "model" in data and "robot" not in data else None


def _robot_data(path: Path) -> dict[str, Any]:
    """What a robot's file says, once it has been read without mistakes."""
    from marsyard import library
    from marsyard.robot import load_robot

    spec = load_robot(str(path)).spec()
    if path.suffix in (".yaml", ".yml"):
        return library.read_yaml(path)
    joints = [j.name for j in spec.joints if j.name]
    return {
        "title": f"{len(spec.bodies) - 1} bodies, {len(joints)} joints: {', '.join(joints)}",
        "description": f"A model without roles; assign them with: marsyard import {path}",
    }


def _plot(name: str, file: str) -> None:
    from marsyard import library
    from marsyard.results import draw_soils

    typer.echo(f"drawn: {draw_soils([name], file, background=library.names('soils'))}")


def _numbers(part: str, numbers: dict[str, Any]) -> None:
    if numbers:
        typer.echo(part)
        width = max(len(k) for k in numbers)
        for key, n in numbers.items():
            low_high = f"  range {n['range'][0]} to {n['range'][1]}" if "range" in n else ""
            value = n.get("value", n.get("points"))
            typer.echo(
                f"  {key:<{width}}  {value} {n.get('unit', '')}{low_high}  "
                f"[{n.get('provenance', 'published')}] {n.get('source', '')}"
            )
        typer.echo("")


def _wheel(w: dict[str, Any]) -> str:
    parts = [w["shape"], f"radius {w['radius']} m", f"width {w['width']} m"]
    if w.get("taper"):
        parts.append(f"taper {w['taper']}")
    if w.get("fillet"):
        parts.append(f"fillet {w['fillet']} m")
    if w.get("crown"):
        parts.append(f"crown {w['crown']} m")
    g = w.get("grousers")
    if g:
        parts.append(f"{g['count']} grousers {g['height']} m high, {g['thickness']} m thick")
    parts.append(f"surface {w.get('surface', {}).get('material', 'metal')}")
    e = w.get("exit")
    if e:
        parts.append(f"exit {e['rule']} {e['value']}")
    return ", ".join(parts)


def _show_ground(name: str) -> None:
    import yaml

    from marsyard.scenario import load_terrain

    spec, _ = load_terrain(name)
    typer.echo(f"{name} (ground): {spec.title}\n")
    typer.echo(spec.description.strip() + "\n")
    _sources(spec.sources)
    said = {"title", "description", "sources"}
    data = spec.model_dump(mode="json", exclude=said, exclude_none=True)
    data = {key: value for key, value in data.items() if value != []}
    for group in {"layers", "places"} & data.keys():
        data[group] = [{"kind": part["kind"], **part} for part in data[group]]
    typer.echo("as resolved (SI):\n")
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    typer.echo("\n".join("  " + line for line in text.splitlines()))
    typer.echo(f"\nlook at it: marsyard ground {name}")


def _sources(sources: Any) -> None:
    if sources:
        typer.echo("sources")
        for source in sources:
            typer.echo(f"  - {source}")
        typer.echo("")
