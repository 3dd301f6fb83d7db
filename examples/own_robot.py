"""A rover of one's own: MJCF, roles, and a scenario that drives it over a step of 4 cm.

Three files are written to a temporary folder: rover.xml (the bodies and joints), robot.yaml (what
they are for) and scenario.yaml (ground, torques, duration). Keep such files anywhere and run them
with `marsyard run scenario.yaml`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import marsyard

WHEELS = {"FL": (0.25, 0.2), "FR": (0.25, -0.2), "RL": (-0.25, 0.2), "RR": (-0.25, -0.2)}  # m
RADIUS = 0.1  # m

WHEEL = """
      <body name="{name}" pos="{x} {y} -0.05">
        <joint name="{name}_drive" axis="0 1 0"/>
        <geom type="cylinder" size="0.1 0.03" euler="90 0 0" mass="0.5"/>
      </body>"""

MJCF = """
<mujoco model="four-wheeler">
  <worldbody>
    <body name="chassis" pos="0 0 0">
      <freejoint name="base"/>
      <geom type="box" size="0.3 0.15 0.04" mass="8"/>{wheels}
    </body>
  </worldbody>
</mujoco>
"""

ROBOT = """
title: a four-wheeled rover
model: rover.xml
base: chassis
wheels:
{wheels}
roles:
  drives: [{drives}]
"""

SCENARIO = """
title: a four-wheeled rover mounts a step of 4 cm
robot: {name: robot.yaml, settle: true, wheel_shape: cylinder}
ground:
  - {kind: plane, name: floor}
  - {kind: box, name: step, centre: [1.5, 0, 0.02], size: [1, 2, 0.04]}
gravity: 3.69
interaction: {law: nonsmooth, friction: 0.8}
control:
  - {joints: drives, torque: "max(-2, min(2, 1*(4 - rate)))"}
run: {duration: 4, step: 1 ms, record_period: 20 ms}
report:
  checks:
    - {name: height on the step, of: position_base.z, take: final, expected: 0.19, tolerance: 0.001}
"""


def write(folder: Path) -> Path:
    """The three files; returns the scenario's path."""
    bodies = "".join(WHEEL.format(name=n, x=x, y=y) for n, (x, y) in WHEELS.items())
    roles = "\n".join(
        f"  {n}: {{body: {n}, joint: {n}_drive, radius: {RADIUS}, width: 0.06, shape: cylinder}}"
        for n in WHEELS
    )
    drives = ", ".join(f"{n}_drive" for n in WHEELS)
    (folder / "rover.xml").write_text(MJCF.format(wheels=bodies))
    (folder / "robot.yaml").write_text(ROBOT.format(wheels=roles, drives=drives))
    (folder / "scenario.yaml").write_text(SCENARIO)
    return folder / "scenario.yaml"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = marsyard.run(write(Path(folder)))
    z = result.data.position_base.sel(axis="z")
    x = result.data.position_base.sel(axis="x")
    print(f"from x = {float(x[0]):.2f} m to {float(x[-1]):.2f} m, z {float(z[0]):.4f} m at first")
    for check in result.checks:
        print(f"{check.verdict}  {check.name}: {check.computed:.5f} m")
    if not result.ok:
        raise SystemExit(result.stopped or "the rover is not on the step")


if __name__ == "__main__":
    main()
