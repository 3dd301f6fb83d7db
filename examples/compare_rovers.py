"""Compare rovers on soils without a simulation: which climbs what, and what it costs.

The same as `marsyard analyze mobility exomars,curiosity_like,sojourner --soil …`, from Python; then
one number of one rover is varied: the width of Sojourner's wheels.
"""

from __future__ import annotations

import math

from marsyard.analysis.mobility import Settings, compare, evaluate
from marsyard.ground.soil import load_soil
from marsyard.robot import Robot, load_robot


def main() -> None:
    soils = [load_soil("dry_sand"), load_soil("mars_sand_zhou2023")]
    settings = Settings(model="wong_reece", gravity=3.72, slope=math.radians(8), speed=0.02)
    names = ("exomars", "curiosity_like", "sojourner")
    for rover in compare([load_robot(name) for name in names], soils, settings):
        for soil in rover.soils:
            print(
                f"{rover.rover:15} {soil.soil:20} slip {100 * soil.slip:5.1f} %  "
                f"power {soil.power:6.2f} W  largest slope {math.degrees(soil.slope_limit):4.1f}°"
            )
    for width in (0.05, 0.08, 0.11):
        found = evaluate(with_width(load_robot("sojourner"), width), soils[:1], settings).soils[0]
        sinkage = max(w.sinkage for w in found.wheels)
        print(
            f"sojourner on wheels {100 * width:.0f} cm wide: sinkage {1e3 * sinkage:.1f} mm, "
            f"pull at 20 % slip {found.pull_20:.1f} N"
        )


def with_width(robot: Robot, width: float) -> Robot:
    """The robot with wheels of another width [m]."""
    wheels = {n: w.model_copy(update={"width": width}) for n, w in robot.wheels.items()}
    return robot.model_copy(update={"wheels": wheels})


if __name__ == "__main__":
    main()
