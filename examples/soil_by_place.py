"""A wheel rolls from firm soil into a patch of soft soil and out again.

The terrain has two soils: the nominal lunar one, and from x = 0.3 to 0.6 m a much softer one. The
same wheel under the same load and torque sinks twice as deep there, and keeps half of its pull.
"""

from __future__ import annotations

import marsyard

TERRAIN = {
    "title": "Firm soil with a soft patch",
    "soil": "lunar_nominal",
    "places": [
        {
            "kind": "polygon",
            "soil": "krenn2008",
            "points": [[0.3, -0.3], [0.6, -0.3], [0.6, 0.3], [0.3, 0.3]],
        }
    ],
}


def main() -> None:
    ground = {"kind": "terrain", "name": "soil", "terrain": TERRAIN, "spacing": "1 cm"}
    settings = {"ground": [ground], "run.duration": 10.5, "parameters.load": 60}
    data = marsyard.run("soil/wheel", settings=settings, study=False).data
    data = data.isel(wheel=0)
    x = data.position_base.sel(axis="x").values

    mean = {}
    for name, low, high in (("firm", 0.1, 0.25), ("soft", 0.4, 0.55), ("firm again", 0.7, 0.85)):
        part = data.isel(time=(low < x) & (x < high)).mean("time")
        mean[name] = float(part.sinkage)
        print(
            f"{name:<11} sinkage {1e3 * float(part.sinkage):5.1f} mm, "
            f"pull {float(part.drawbar_pull):5.1f} N, "
            f"torque {float(part.driving_torque):.2f} N·m, "
            f"compaction resistance {float(part.compaction_resistance):.1f} N"
        )
    if not mean["soft"] > 1.5 * mean["firm"]:
        raise SystemExit("the soft patch is not soft")


if __name__ == "__main__":
    main()
