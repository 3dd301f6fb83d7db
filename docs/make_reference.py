"""Write docs/scenario-reference.md and docs/study-reference.md from the models that validate files,
and the table of all laws in docs/choosing.md from what the laws say of themselves.

python docs/make_reference.py            write the pages
python docs/make_reference.py --check    exit code 1 if one is out of date
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.study_file import StudyFile
from marsyard.control.names import FUNCTIONS, STATE_NAMES
from marsyard.interaction import about
from marsyard.scenario import Scenario
from marsyard.units import UNITS

PAGE = Path(__file__).with_name("scenario-reference.md")
STUDY_PAGE = Path(__file__).with_name("study-reference.md")
CHOOSING = Path(__file__).with_name("choosing.md")

HEAD = """# Scenario reference

*Written by `docs/make_reference.py` from the models in `marsyard/scenario/schema.py`; do not edit.*

A scenario is one YAML file with the keys below. Numbers are SI. A text may carry a unit
(`10 deg`, `5 cm`, `20 ms`) and is converted once, on reading. Unknown keys are errors. `extends:
NAME` takes over another scenario (of the library, or a file beside this one): mappings are merged,
lists and single values are replaced. `marsyard show --schema rt0448/test-1` prints the JSON schema
for editors.
"""

STUDY_HEAD = """# Study reference

*Written by `docs/make_reference.py` from the models in `marsyard/campaign/study_file.py` and
`marsyard/campaign/optimize/study_file.py`; do not edit.*

The files of [`marsyard sweep`](how-to/sweep.md) and [`marsyard optimize`](how-to/optimize.md): one
YAML file each, with the keys below. Unknown keys are errors. Values that are set or varied in the
scenario may carry a [unit](scenario-reference.md#units); bare numbers are SI. Paths are those of
`--set`, all in the [scenario reference](scenario-reference.md); how values may be distributed
stands in [how to validate](how-to/validate.md#uncertain-values).
"""

#: the same for studies: place, model, the file that it belongs to
STUDY_CHAPTERS = (
    ("a sweep", "StudyFile", StudyFile),
    ("design", "Design", StudyFile),
    ("vary.NAME of a sweep", "Varied", StudyFile),
    ("vary.NAME.range", "Range", StudyFile),
    ("outputs: one output", "Output", StudyFile),
    ("success: one limit", "Limit", StudyFile),
    ("an optimisation", "OptimizeFile", OptimizeFile),
    ("vary.NAME of an optimisation", "VariableFile", OptimizeFile),
    ("ratios: one ratio", "Ratio", OptimizeFile),
    ("objectives: one objective", "Objective", OptimizeFile),
    ("constraints: one constraint", "Constraint", OptimizeFile),
    ("optimiser", "Optimiser", OptimizeFile),
    ("cases.NAME", "Case", OptimizeFile),
)

#: the order of the chapters: place in the file, model
CHAPTERS = (
    ("the scenario", "Scenario"),
    ("robot", "Robot"),
    ("robot.springs.NAME", "Spring"),
    ("robot.wheel", "WheelChange"),
    ("robot.wheel.grousers", "GrouserChange"),
    ("robot.wheel.surface", "TreadSurface"),
    ("robot.design", "RobotDesign"),
    ("robot.design.pivots.NAME", "PivotShift"),
    ("ground: plane", "PlaneGround"),
    ("ground: sphere", "SphereGround"),
    ("ground: box", "BoxGround"),
    ("ground: mesh", "MeshGround"),
    ("ground: rocks", "RocksGround"),
    ("ground.field of rocks", "RockField"),
    ("ground.rocks: one rock", "SingleRock"),
    ("ground: terrain", "TerrainGround"),
    ("terrain", "TerrainSpec"),
    ("terrain.layers: plane", "PlaneLayer"),
    ("terrain.layers: step", "StepLayer"),
    ("terrain.layers: sine", "SineLayer"),
    ("terrain.layers: bump", "BumpLayer"),
    ("terrain.layers: crater", "CraterLayer"),
    ("terrain.layers: craters", "CratersLayer"),
    ("terrain.layers: rocks", "RocksLayer"),
    ("terrain.layers: fractal", "FractalLayer"),
    ("terrain.layers: file", "FileLayer"),
    ("terrain.layers: mesh", "MeshLayer"),
    ("terrain.layers: array", "ArrayLayer"),
    ("terrain.layers: plugin", "PluginLayer"),
    ("a circle, e.g. to keep clear", "Circle"),
    ("terrain.places: circle", "CirclePlace"),
    ("terrain.places: polygon", "PolygonPlace"),
    ("terrain.places: band", "BandPlace"),
    ("terrain.soil_map", "SoilMap"),
    # and all below it, of which laws make their own part (`_below`)
    ("interaction", "Interaction"),
    ("controller", "PluginUse"),
    ("control: a law of torque", "TorqueLaw"),
    ("control: a law of speed", "SpeedLaw"),
    ("control: an FMU", "FmuLaw"),
    ("motors.NAME", "DCMotor"),
    ("drive", "Drive"),
    ("drive.commands: a path", "PathCommand"),
    ("drive.commands: a goal", "GoalCommand"),
    ("drive.commands: an arc", "ArcCommand"),
    ("drive.commands.arc", "ArcShape"),
    ("drive.commands: a turn on the spot", "TurnCommand"),
    ("drive.commands: a crab", "CrabCommand"),
    ("drive.commands: steering by hand", "SteerCommand"),
    ("drive.commands: a wait", "WaitCommand"),
    ("drive.commands: a posture", "PostureCommand"),
    ("drive.commands: motors", "MotorCommand"),
    ("drive.abort_limits", "AbortLimits"),
    ("drive.following", "Following"),
    ("drive.sense", "Sense"),
    ("drive.limits", "Limits"),
    ("gait", "Gait"),
    ("gait.modes: walking", "WalkingMode"),
    ("gait.modes: peristaltic", "PeristalticMode"),
    ("gait.modes: rolling", "RollingMode"),
    ("gait.modes.until", "Until"),
    ("tethers: one tether", "Tether"),
    ("gates: one gate", "Gate"),
    ("run", "Run"),
    ("report", "Report"),
    ("report.figures: one figure", "Figure"),
    ("report.ground", "GroundFigures"),
    ("report.ground.sections: one cut", "Section"),
    ("report.checks: one check", "Check"),
    ("report.questions: one question", "Question"),
    ("report.questions.measures: one number", "Bound"),
    ("study", "Study"),
    ("study.range", "Range"),
    ("study.outputs: one output", "Output"),
    ("study.figures: one figure", "StudyFigure"),
    ("study.figures.reference: one set of points", "Reference"),
    ("study.bisect", "Bisect"),
    ("study.success: one limit", "Limit"),
    ("study.checks: one check", "StudyCheck"),
)


def page() -> str:
    """The whole page."""
    models = _models(Scenario)
    chapters: list[tuple[str, str]] = []
    for place, name in CHAPTERS:
        chapters.append((place, name))
        if name == "Interaction":
            chapters += _below(place, models[name], models, {name for _, name in CHAPTERS})
    _refuse_missing(models, {name for _, name in chapters}, "CHAPTERS")
    parts = [HEAD]
    for place, name in chapters:
        parts.append(_chapter(place, models[name], models))
    parts += [_units(), _expressions()]
    return "\n".join(parts)


def study_page() -> str:
    """The whole page of studies."""
    models = {file: _models(file) for file in (StudyFile, OptimizeFile)}
    known = {name for _, name, _ in STUDY_CHAPTERS}
    for found in models.values():
        _refuse_missing(found, known, "STUDY_CHAPTERS")
    chapters = [_chapter(p, models[file][n], models[file]) for p, n, file in STUDY_CHAPTERS]
    return "\n".join([STUDY_HEAD, *chapters])


def choosing() -> str:
    """docs/choosing.md with the table of all laws."""
    head = ("law", "ground", "gives", "does not give", "needs", "checked against", "use it for")
    rows = [head, ("---",) * len(head)]
    for law in about.all_laws():
        if law.guide is not None:
            name = f"[`{law.name}`](physics/{law.page}.md)" if law.page else f"`{law.name}`"
            rows.append((name, *law.guide[:-1]))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    pattern = re.compile(r"(<!-- laws -->\n).*?(<!-- end -->)", re.DOTALL)
    text = CHOOSING.read_text(encoding="utf-8")
    return pattern.sub(lambda m: f"{m[1]}\n{table}\n\n{m[2]}", text, count=1)


def _models(file: type[BaseModel]) -> dict[str, Any]:
    """The model of a file and all that stand in it, by name."""
    schema = file.model_json_schema(mode="serialization")
    return {**schema.get("$defs", {}), file.__name__: schema}


def _below(
    place: str, model: dict[str, Any], models: dict[str, Any], known: set[str]
) -> list[tuple[str, str]]:
    """Chapters of all groups in a model, each before what stands in it, that are not `known`."""
    found: list[tuple[str, str]] = []
    for key, field in model["properties"].items():
        for name, where in _groups(f"{place}.{key}", field):
            if name not in known:
                known.add(name)
                found.append((where, name))
                found += _below(where.partition(":")[0], models[name], models, known)
    return found


def _groups(place: str, field: dict[str, Any]) -> list[tuple[str, str]]:
    """Names of the models that may stand in a field, and what their chapters are called."""
    if "$ref" in field:
        return [(field["$ref"].rsplit("/", 1)[-1], place)]
    if "mapping" in field.get("discriminator", {}):
        kinds = {ref: kind for kind, ref in field["discriminator"]["mapping"].items()}
        options = [option["$ref"] for option in field["oneOf"]]
        return [(ref.rsplit("/", 1)[-1], f"{place}: {kinds[ref]}") for ref in options]
    found = [each for option in field.get("anyOf", ()) for each in _groups(place, option)]
    if isinstance(field.get("items"), dict):
        one = {"pairs": "one pair"}.get(place.rpartition(".")[2], "one")
        found += _groups(f"{place}: {one}", field["items"])
    if isinstance(field.get("additionalProperties"), dict):
        found += _groups(f"{place}.NAME", field["additionalProperties"])
    return found


def _refuse_missing(models: dict[str, Any], known: set[str], where: str) -> None:
    missing = set(models) - known
    if missing:
        raise SystemExit(f"no chapter for {sorted(missing)}; add it to {where}")


def _chapter(place: str, model: dict[str, Any], models: dict[str, Any]) -> str:
    path, of, file = place.partition(" of a") if "NAME of" in place else (place, "", "")
    title = place if place.startswith(("the ", "a ", "an ")) else f"`{path}`{of}{file}"
    lines = [f"## {title}", "", " ".join(model.get("description", "").split()), ""]
    lines += ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    required = set(model.get("required", ()))
    for key, field in model["properties"].items():
        default = "required" if key in required else _default(field)
        meaning = " ".join(field.get("description", "").split())
        if "$ref" in field and not meaning:
            inner = models[field["$ref"].rsplit("/", 1)[-1]]
            meaning = " ".join(inner.get("description", "").split())
        if "const" in field and not meaning:
            meaning = "says which of them this is"
        row = (f"`{key}`", _kind(field), default, meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join([*lines, ""])


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    if value is None or value in ("", [], {}):
        return "–"
    if isinstance(value, dict | list) and any(isinstance(v, dict) for v in _inside(value)):
        return "as below" if isinstance(value, dict) else "one level plane"
    if isinstance(value, dict):
        return "as below"
    text = json.dumps(value, ensure_ascii=False).strip('"')
    text = re.sub(r"\.0\b", "", text)
    return f"`{text}`" if isinstance(value, list) else f"`{_number(value)}`"


def _inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kind(field: dict[str, Any]) -> str:
    """What may stand there, in words, with unit and range."""
    if "$ref" in field:
        return "group"
    if "anyOf" in field:
        kinds = [_kind(f) for f in field["anyOf"] if f.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "oneOf" in field and "mapping" in field.get("discriminator", {}):
        *kinds, last = field["discriminator"]["mapping"]
        return f"{', '.join(kinds)} or {last}"
    if "oneOf" in field:
        return " or ".join(dict.fromkeys(_kind(f) for f in field["oneOf"]))
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{v}`" for v in field["enum"])
    kind = field.get("type")
    if kind == "number":
        unit = field.get("unit", "")
        return "number" + (f" [{unit}]" if unit not in ("", "1") else "") + _range(field)
    if kind == "integer":
        return "whole number" + _range(field)
    if kind == "boolean":
        return "true or false"
    if kind == "string":
        return "text"
    if kind == "array" and "prefixItems" in field:
        items = field["prefixItems"]
        if items[0].get("type") == "array":
            pairs = len(items[0].get("prefixItems", ())) == 2
            return f"{len(items)} pairs of numbers" if pairs else f"{len(items)} points"
        return f"{len(items)} × {_kind(items[0])}"
    if kind == "array":
        return f"list: {_kind(field['items'])}"
    if kind == "object":
        inner = field.get("additionalProperties", {})
        return f"by name: {_kind(inner)}" if isinstance(inner, dict) else "group"
    return "anything" if kind is None else str(kind)


def _range(field: dict[str, Any]) -> str:
    signs = {
        "ge": "≥", "minimum": "≥", "gt": ">", "exclusiveMinimum": ">",
        "le": "≤", "maximum": "≤", "lt": "<", "exclusiveMaximum": "<",
    }  # fmt: skip
    bounds = [f"{sign} {_bound(field[key])}" for key, sign in signs.items() if key in field]
    return f", {' and '.join(bounds)}" if bounds else ""


def _bound(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _units() -> str:
    lines = ["## Units", "", "| quantity | units a text may carry, SI first |", "| --- | --- |"]
    for name, units in UNITS.items():
        listed = ", ".join(f"`{u}`" for u in units if u)
        lines.append(f"| {name.replace('_', ' ')} | {listed} |")
    return "\n".join([*lines, ""])


def _expressions() -> str:
    states = ", ".join(f"`{n}`" for n in STATE_NAMES)
    functions = ", ".join(f"`{n}`" for n in FUNCTIONS)
    return f"""## Torque expressions

Names: {states}, `pi`; `angle`, `rate` of the joint the law acts on; `angle.JOINT`, `rate.JOINT` of
another; the scenario's `parameters`. Functions: {functions}. Operators: `+ - * / **`, comparisons
(also chained), `and`, `or`, `not`. Truth is 1, falsehood 0. See
[how to write a torque law](how-to/torque-law.md).
"""


def main() -> None:
    for path, text in ((PAGE, page()), (STUDY_PAGE, study_page()), (CHOOSING, choosing())):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is out of date: run python docs/make_reference.py")


if __name__ == "__main__":
    main()
