"""Carry out a command sequence from a file, look at what became of it, record it and run it again.

The sequence knows neither rover nor ground: here it is put onto a rover on a plane.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import marsyard
from marsyard.operations import load_sequence, record_sequence, save_sequence

FILE = Path(__file__).with_name("sequence.yaml")
ROBOT = {"name": "exomars", "position": [0, 0, 1], "settle": True, "wheel_shape": "disc"}
SCENARIO = {
    "robot": ROBOT,
    "interaction": {"friction": 0.8},
    "drive": {"commands": [{"wait": 1}], "acceleration": 0.5},
    "run": {"duration": 120, "step": 5e-3, "record_period": 0.1, "theta": 1},
}


def main() -> None:
    from marsyard.scenario import validate

    scenario = validate(SCENARIO)
    first = marsyard.run(scenario, sequence=load_sequence(FILE))
    for k, outcome in enumerate(first.data.command_outcome.values):
        began, ended = float(first.data.command_began[k]), float(first.data.command_ended[k])
        kind = str(first.data.command_kind[k].values)
        print(f"{k} {kind:8s} {began:5.1f} to {ended:5.1f} s  {outcome}")

    # what the motors were told is a sequence, too
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recorded.yaml"
        save_sequence(record_sequence(first), file)
        again = marsyard.run(scenario, sequence=file)
    apart = np.abs(again.data.position_base[-1] - first.data.position_base[-1]).max()
    print(f"recorded and run again: {float(apart):.1e} m apart")
    assert first.data.command_outcome.values.tolist() == 4 * ["reached"] + ["until", "reached"]
    assert apart < 1e-9


if __name__ == "__main__":
    main()
