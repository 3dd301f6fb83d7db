"""Which slope holds a rover with blocked wheels? Sweep the friction coefficient.

The rover stands on a slope of 20° with stiff springs on its drives, so that the wheels cannot turn.
It must slide for μ < tan 20° = 0.364 and stand for more. Give a file name to get a plot:

    python examples/sweep_friction.py slide.png
"""

from __future__ import annotations

import math
import sys

import marsyard

SLOPE = 20.0  # degrees
VALUES = (0.25, 0.30, 0.35, 0.36, 0.37, 0.38, 0.45, 0.60)
DURATION = 0.5  # s


def acceleration(friction: float) -> float:
    """Acceleration downhill [m/s²] over the second half of a short run."""
    blocked = {"stiffness": 1e6, "damping": 1e4}
    settings = {
        "ground": [
            {"kind": "plane", "name": "slope", "slope": f"{SLOPE} deg", "uphill": "180 deg"}
        ],
        "robot.position": [0, 0, 1],
        "robot.attitude": [0, f"{SLOPE} deg", 0],
        "robot.springs": {"drives": blocked, "steering": blocked},
        "interaction.friction": friction,
        "control": [],
        "run.duration": DURATION,
        "report": {},
    }
    data = marsyard.run("rt0448/test-4", settings=settings).data
    v = data.velocity_base.sel(axis="x") / math.cos(math.radians(SLOPE))
    late = v.sel(time=slice(DURATION / 2, DURATION))
    return float((late[-1] - late[0]) / (late.time[-1] - late.time[0]))


def main() -> None:
    angle = math.radians(SLOPE)
    found = []
    for mu in VALUES:
        exact = max(0.0, 3.69 * (math.sin(angle) - mu * math.cos(angle)))
        found.append((mu, acceleration(mu), exact))
        print(f"friction {mu:.2f}: {found[-1][1]:8.5f} m/s²  (rigid block {exact:.5f})")
    if len(sys.argv) > 1:
        plot(found, sys.argv[1])


def plot(found: list[tuple[float, float, float]], file: str) -> None:
    """Computed points on the line of a sliding block."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mu, computed, exact = zip(*found, strict=True)
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    axes.plot(mu, exact, color="0.6", label="rigid block")
    axes.plot(mu, computed, "o", label="computed")
    axes.set(xlabel="friction coefficient", ylabel="acceleration downhill [m/s²]")
    axes.legend()
    figure.savefig(file, dpi=120)
    print(f"plot: {file}")


if __name__ == "__main__":
    main()
