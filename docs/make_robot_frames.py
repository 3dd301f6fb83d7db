"""Draw a picture of every robot of the library and the page that shows them, docs/robots.md.

    python docs/make_robot_frames.py

Each robot stands as its model starts (key frame `stand` where it has one, else all joints at zero),
on a plane through its lowest point; satellites, which have nothing to stand on, float.
No physics takes part.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from marsyard import library
from marsyard.ground import Plane
from marsyard.results.movie.camera import views
from marsyard.results.movie.stage import Stage
from marsyard.results.movie.take import Take, still
from marsyard.robot import Robot, load_robot

HERE = Path(__file__).parent
PICTURES = HERE / "images" / "robots"
SIZE = (480, 320)
HEAD = """# Robots

Every robot of the library, as `marsyard list rovers` names it. `marsyard show NAME` prints its
numbers with units and sources. Add [your own](how-to/own-robot.md) in the same way. This page is
made by `python docs/make_robot_frames.py`.
"""


def standing(robot: Robot) -> Take:
    """A robot that stands still, on a plane through its lowest point, or floats."""
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    keys = [model.key(k).name for k in range(model.nkey)]
    if "stand" in keys:
        mujoco.mj_resetDataKeyframe(model, data, keys.index("stand"))
    mujoco.mj_kinematics(model, data)
    base = model.body(robot.base).id if robot.base else min(1, model.nbody - 1)
    stands = robot.wheels or robot.feet or robot.tracks
    if not stands and mujoco.mjtJoint.mjJNT_FREE in model.jnt_type:
        return still(model, data.qpos, base)
    low = float(still(model, data.qpos, base).cloud(0.0)[:, 2].min(initial=np.inf))
    return still(model, data.qpos, base, [Plane.horizontal(low if np.isfinite(low) else 0.0)])


def picture(name: str) -> np.ndarray:
    """A robot from the front and the right, shape [height, width, 3], 0 to 255."""
    take = standing(load_robot(name))
    subject = take.robot(np.zeros(1))
    view = views("front", subject, 25.0, azimuth=np.radians(138), elevation=np.radians(-16),
                 distance=4.0 * subject.radius)[0]  # fmt: skip
    with Stage(take, SIZE) as stage:
        return stage.picture(0.0, view)


def page() -> str:
    """The page with all robots."""
    parts = [HEAD]
    for name in library.names("rovers"):
        title = load_robot(name).title
        parts.append(f"\n## {name}\n\n{title}.\n\n![{name}](images/robots/{name}.png)\n")
    return "".join(parts)


def _save(pixels: np.ndarray, path: Path) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    few = Image.fromarray(pixels).quantize(80, method=Image.Quantize.MEDIANCUT)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    for name in library.names("rovers"):
        _save(picture(name), PICTURES / f"{name}.png")
    (HERE / "robots.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
