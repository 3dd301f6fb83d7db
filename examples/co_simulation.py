"""A rover and its controllers as FMUs: stepped by FMPy, and the same loop inside a scenario."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import fmpy
from pythonfmu import FmuBuilder

from marsyard import Simulation
from marsyard.fmi import export_fmu
from marsyard.scenario import validate

STEP = 0.02  # [s]
WANTED = 0.5  # [rad/s]
ROVER = {
    "robot": {"name": "exomars_rt0448", "settle": True},
    "run": {"duration": 2.0, "step": 0.001, "control_period": STEP},
}


class Unit:
    """An FMU in FMPy, its variables by name."""

    def __init__(self, path: Path) -> None:
        about = fmpy.read_model_description(str(path))
        self._number = {v.name: v.valueReference for v in about.modelVariables}
        self.fmu: Any = fmpy.instantiate_fmu(fmpy.extract(str(path)), about, "CoSimulation")
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def set(self, name: str, value: float) -> None:
        self.fmu.setReal([self._number[name]], [value])

    def get(self, name: str) -> float:
        return self.fmu.getReal([self._number[name]])[0]


def main() -> None:
    """Drive for two seconds, both ways."""
    here = Path(__file__).parent / "fmu"
    with tempfile.TemporaryDirectory() as folder:
        scenario = validate(ROVER)
        rover_file = export_fmu(scenario, Path(folder) / "rover.fmu", inputs="torque")
        pi_file = FmuBuilder.build_FMU(here / "speed_controller.py", dest=folder)
        # a master of one's own: controllers first, then the rover
        joints = [n for n in Simulation(scenario).world.robot.roles["drives"]]
        rover, pilots = Unit(rover_file), {joint: Unit(pi_file) for joint in joints}
        for k in range(100):
            for joint, pilot in pilots.items():
                pilot.set("wanted", WANTED)
                pilot.set("rate", rover.get(f"rate.{joint}"))
                pilot.fmu.doStep(k * STEP, STEP)
                rover.set(f"set_torque.{joint}", pilot.get("torque"))
            rover.fmu.doStep(k * STEP, STEP)
        # the same controllers inside a scenario
        law = {
            "kind": "fmu", "file": str(pi_file), "each": "drives", "outputs": {"torque": "torque"},
            "inputs": {"wanted": WANTED, "rate": "rate"},
        }  # fmt: skip
        inside = Simulation(validate({**ROVER, "control": [law]}))
        inside.run()
        print(f"two FMUs:   x = {rover.get('base.x'):.9f} m")
        print(f"a scenario: x = {inside.qpos[0]:.9f} m")
        inside.close()


if __name__ == "__main__":
    main()
