"""The base scenario of a validation: a rover of the library on a ground, with defaults.

| `--ground` | is |
| --- | --- |
| `plane` | hard and level, friction 0.6, contact solved to 1e-6 |
| a ground of the library, a terrain file, an elevation map | soft, of its own soil or `SOIL` |
| `GROUND:SOIL`, e.g. `flat:dry_sand` | the same with a soil of the library |

Gravity is that of Mars, 3.72 m/s². On soft ground wheels that say where soil leaves them (`exit`)
meet it by the model of Wong and Reece, with the stress peaks of `control/goal` (assumed), others by
the soil contact model. Rovers without steering skid. Nothing is said of motors: without them there
are no limits of current and temperature, and the energy is the work of the motors (`--set
motors.drives={…}`, or a scenario of one's own, says more).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marsyard.scenario import validate

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario

#: of ground that has none of its own
SOIL = "mars_sand_zhou2023"
HARD = "plane"
#: a drive needs a command until the sequence replaces it
_NOTHING = [{"wait": 0}]
#: residual of contact on hard ground: 1e-10 takes 1.7 to 3 times as long, since six stiff
#: wheels share loads in many ways; ends of drives of 1 m differ by 1 to 10 mm between the two
_TOLERANCE = 1e-6
#: longest run [s]; it ends with its last command
_LONGEST = 1800.0


def base_scenario(
    robot: str, ground: str = HARD, settings: dict[str, Any] | None = None
) -> Scenario:
    """A rover on a ground, with settings (paths as in `--set`) on top."""
    from marsyard.robot import load_robot
    from marsyard.scenario.scenario import apply_setting

    rover = load_robot(robot)
    hard = ground == HARD
    data: dict[str, Any] = {
        "title": f"{robot} on {ground}",
        "robot": {"name": robot, "position": [0, 0, 1], "attitude": [0, 0, 0], "settle": True},
        "gravity": 3.72,
        "drive": {"commands": _NOTHING},
        "run": {"duration": _LONGEST, "step": 0.002, "record_period": 0.1, "theta": 1},
    }
    if not rover.roles.get("steering"):
        data["drive"]["mode"] = "skid"
    if hard:
        data["ground"] = [{"kind": "plane", "name": "plane"}]
        data["interaction"] = {"friction": 0.6, "solver": {"tolerance": _TOLERANCE}}
        data["run"]["step"] = 0.005
    else:
        data["ground"] = [_soft(ground)]
        if rover.wheels:
            data["interaction"] = {"wheel": {"model": "wong_reece"}}
    for path, value in (settings or {}).items():
        apply_setting(data, path, value)
    return validate(data, f"{robot} on {ground}")


def _soft(ground: str) -> dict[str, Any]:
    """A ground of kind terrain; what it is called by is checked."""
    from marsyard.ground.soil import load_soil
    from marsyard.scenario.terrain_file import load_terrain

    name, colon, soil = ground.partition(":")
    spec, _ = load_terrain(name)
    if colon:
        load_soil(soil)
    chosen = soil or (None if spec.soil else SOIL)
    return {"kind": "terrain", "name": "ground", "terrain": name, "soil": chosen}
