"""Write docs/modules.md from marsyard/ports.py and examples/own_modules.py.

python docs/make_modules.py            write the page
python docs/make_modules.py --check    exit code 1 if the page is out of date
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from marsyard import ports
from marsyard.modules.yard import KEPT

PAGE = Path(__file__).with_name("modules.md")
EXAMPLE = Path(__file__).parents[1] / "examples" / "own_modules.py"

HEAD = """# Modules: inputs and outputs

*Written by `docs/make_modules.py` from `marsyard/ports.py` and `examples/own_modules.py`;
do not edit.*

A simulation is four black boxes with codified inputs and outputs, after Grand, Ben Amar, Bidaud,
Andrade (CLAWAR 2001), section 1. Each of them can be replaced from outside by a few lines of
Python.

```
             joint commands                contact body states
  ┌─────────┐ ───────────▶ ┌───────────┐ ───────────▶ ┌─────────────┐
  │ control │              │ multibody │              │ interaction │
  └─────────┘ ◀─────────── └───────────┘ ◀─────────── └─────────────┘
       ▲    joint states, base   │   contact body wrenches   │
       └───── mean wrenches ─────┼───────────────────────────┘
                                 ▼
                             data set ───▶ post-processing ───▶ report, run folder
```

| replace | compiled engine | plain Python, step by step |
| --- | --- | --- |
| control | `Simulation(scenario, control=f)` | `Yard(scenario, control=f)` |
| interaction | `Simulation(scenario, interaction=f)` | `Yard(scenario, interaction=f)` |
| multibody | | `Yard(scenario, multibody=box)` |
| post-processing | `marsyard.run(name, post={"name": f})` | `yard.results({"name": f})` |

`marsyard.run` takes `control=f` and `interaction=f` too. What is not replaced is marsyard's own,
made from the scenario: `EngineMultibody`, `SoilInteraction` and `ScenarioControl` of
`marsyard.modules` are such boxes and can be called by themselves, for instance to add a force of
one's own to as the soil's.

- In the engine an own `control` replaces `control`, `drive` and `gait` of the scenario and is
  asked once per control period; the scenario's motors bound what it commands. An own
  `interaction` replaces the ground and is asked before every step; `robot.settle` still places
  the robot on the scenario's ground. Its wrenches are recorded as `contact_body_force` and
  `contact_body_moment`. It needs `run.integrator: moreau_jean`.
- The yard with marsyard's own boxes on soil gives the engine's results to the last digits; each
  step costs one or two milliseconds of Python; an own interaction in the engine 0.04 ms and what
  it does.
- Hard ground is a law of constraints: which impulses *and* velocities go together is solved with
  the inertia matrix at the end of a step. It cannot be evaluated from the states of the contact
  bodies, so it belongs to marsyard's multibody box and is there as long as no interaction replaces
  it; so is compliant contact (`interaction.law: compliant`). A multibody box of one's own needs
  soil or an interaction. A controller feels hard ground in the engine, not in the yard.
- A drive or a gait works inside the engine; the yard carries out the laws of `control`.
- A box that gives a wrong shape, a number that is not finite, or raises, ends the run in one
  sentence with box, field and time; what was recorded until then is kept.
"""

BOXES = (ports.Multibody, ports.Interaction, ports.Control, ports.PostProcessing)
MESSAGES = (
    ports.ContactBodyStates,
    ports.ContactBodyWrenches,
    ports.JointStates,
    ports.JointCommands,
    ports.BaseState,
)
TEXTS = ("multibody", "interaction", "control", "post-processing")


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## The boxes\n", *map(_box, BOXES)]
    parts.append(
        "A box with a memory may have `state()`, which gives a dict of arrays, and\n"
        "`restore(dict)`: it is then saved and resumed with `Simulation.state` and `restore`.\n"
    )
    parts.append("## What passes between them\n")
    parts.append(
        "n organs, m joints. SI, world frame, x forward, y left, z up. Fields with a value in the\n"
        "last column may be left out; a single number stands for all contact bodies or joints.\n"
    )
    parts += [*map(_message, MESSAGES), _recorded(), "## Examples\n"]
    parts.append("All of them run in [`examples/own_modules.py`](../examples/own_modules.py).\n")
    parts += [f"### {name.capitalize()}\n\n```python\n{_example(name)}\n```\n" for name in TEXTS]
    return "\n".join(parts)


def _box(box: type) -> str:
    lines = [f"### {box.__name__}\n", f"{_flat(box.__doc__)}\n", "```python"]
    for name, method in vars(box).items():
        if inspect.isfunction(method) and (name == "__call__" or not name.startswith("_")):
            if name == "_no_init_or_replace_init":
                continue
            text = str(inspect.signature(method)).replace("'", "").replace("(self, ", "(")
            text = text.replace("(self)", "()").replace("xr.Dataset", "xarray.Dataset")
            called = "box" if name == "__call__" else f"box.{name}"
            lines.append(f"{called}{text}\n    # {_flat(method.__doc__)}")
    return "\n".join([*lines, "```\n"])


def _message(message: type) -> str:
    rows = ["| field | shape | unit | meaning | if left out |", "| --- | --- | --- | --- | --- |"]
    for name, port in ports.ports(message).items():
        rest = _default(getattr(message, name, None))
        unit = port.unit or "text"
        rows.append(f"| `{name}` | {port.shape} | {unit} | {_flat(port.meaning)} | {rest} |")
    return "\n".join([f"### {message.__name__}\n", f"{_flat(message.__doc__)}\n", *rows, ""])


def _default(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "none" if not value else "not turned"
    return {"nan": "NaN", "inf": "infinite"}.get(f"{value:g}", f"{value:g}")


def _recorded() -> str:
    rows = ["| variable | dimensions | unit | meaning |", "| --- | --- | --- | --- |"]
    dims = {"n": "contact_body", "m": "joint", "3": "axis", "4": "quat"}
    for start, (message, names) in KEPT.items():
        for name in names:
            port = ports.ports(message)[name]
            shape = ", ".join(["time", *(dims[s] for s in port.shape.split(", "))])
            meaning = _flat(port.meaning)
            rows.append(f"| `{start}_{name}` | {shape} | {port.unit} | {meaning} |")
    text = (
        "`Yard.dataset()` is an `xarray.Dataset` of what passed; wrenches and commands are\n"
        "those of the step that ends at each time. The engine's data set is described under\n"
        "[conventions](physics/conventions.md).\n"
    )
    return "\n".join(["### What the yard records\n", text, *rows, ""])


def _example(name: str) -> str:
    text = EXAMPLE.read_text(encoding="utf-8")
    found = re.search(rf"# --8<-- {name}\n(.*?)\n+# --8<--", text, re.DOTALL)
    assert found is not None, name
    return found[1].strip()


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


def main() -> None:
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
            raise SystemExit(f"{PAGE.name} is out of date: run python docs/make_modules.py")
        return
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
