"""A rover as an FMU: the same motion as the simulation's, bit for bit, stepped by FMPy."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from fmu_files import example_fmu

from marsyard.errors import InputError
from marsyard.fmi import export_fmu
from marsyard.scenario import validate
from marsyard.simulation import Simulation

STEP = 0.01
BASE = {
    "robot": {"name": "exomars_rt0448", "settle": True},
    "interaction": {"friction": 0.6},
    "run": {"duration": 0.5, "step": 0.001, "control_period": STEP, "record_period": 0.1},
}
SOIL = {
    "robot": {"name": "exomars", "settle": True},
    "ground": [{"kind": "terrain", "terrain": "flat", "soil": "dry_sand"}],
    "run": {"duration": 0.5, "step": 0.002, "control_period": 0.02, "record_period": 0.02},
}
DRIVES = [f"{w}Wheel_y" for w in ("RL", "RR", "CL", "FL", "CR", "FR")]


class Master:
    """An instance of an FMU in FMPy, by names."""

    def __init__(self, path: Path, **start: float) -> None:
        self.description = fmpy.read_model_description(str(path))
        self.reference = {v.name: v.valueReference for v in self.description.modelVariables}
        self.said: list[str] = []
        folder = fmpy.extract(str(path))
        self.fmu = fmpy.instantiate_fmu(
            folder, self.description, "CoSimulation", debug_logging=True,
            logger=lambda *given: self.said.append(given[-1].decode()),
        )  # fmt: skip
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set(**start)
        self.fmu.exitInitializationMode()

    def set(self, values: dict[str, float] | None = None, **more: float) -> None:
        given = {**(values or {}), **more}
        self.fmu.setReal([self.reference[k] for k in given], list(given.values()))

    def get(self, *names: str) -> list[float]:
        return self.fmu.getReal([self.reference[k] for k in names])

    def step(self, time: float, step: float = STEP) -> None:
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=step)

    def close(self) -> None:
        self.fmu.terminate()
        self.fmu.freeInstance()


@contextmanager
def running(path: Path, **start: float):
    master = Master(path, **start)
    yield master
    master.close()
    gc.collect()  # what is wrong with references would show here


@pytest.fixture(scope="module")
def torque_fmu(tmp_path_factory):
    out = tmp_path_factory.mktemp("fmu") / "rover.fmu"
    return export_fmu(
        validate(BASE), out, inputs="torque", parameters={"interaction.friction": "friction"}
    )


@pytest.fixture(scope="module")
def soil_fmu(tmp_path_factory):
    out = tmp_path_factory.mktemp("fmu") / "on-sand.fmu"
    parameters = {"ground.0.soil.cohesion": "", "gravity": "g"}
    return export_fmu(validate(SOIL), out, inputs="speed", parameters=parameters)


def test_fmpy_finds_nothing_wrong(torque_fmu, soil_fmu):
    assert validate_fmu(str(torque_fmu)) == []
    assert validate_fmu(str(soil_fmu)) == []
    described = fmpy.read_model_description(str(soil_fmu))
    of = {v.name: v for v in described.modelVariables}
    assert of["set_speed.FLWheel_y"].unit == "rad/s" and of["set_angle.FLSteering_z"].unit == "rad"
    assert of["wheel.FL.force_z"].unit == "N" and of["wheel.FL.sinkage"].unit == "m"
    assert of["ground[0].soil.cohesion"].unit == "Pa" and float(of["g"].start) == 3.69
    # as Modelica spells them
    assert of["torque.FLWheel_y"].unit == "N.m" and of["g"].unit == "m/s2"
    assert {v.start for n, v in of.items() if n.startswith("set_angle")} == {"0.0"}
    newton = next(u for u in described.unitDefinitions if u.name == "N").baseUnit
    assert (newton.kg, newton.m, newton.s) == (1, 1, -2)
    assert float(described.defaultExperiment.stepSize) == 0.02
    assert described.coSimulation.modelIdentifier == "on_sand"


def test_the_file_holds_all_it_needs_and_no_path_of_this_machine(torque_fmu, tmp_path):
    again = export_fmu(
        validate(BASE), tmp_path / "rover.fmu", inputs="torque",
        parameters={"interaction.friction": "friction"},
    )  # fmt: skip
    assert again.read_bytes() == torque_fmu.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["rover.fmu"]
    with zipfile.ZipFile(torque_fmu) as file:
        names = file.namelist()
        texts = [n for n in names if n.startswith("resources/") and "pythonfmu/" not in n]
        for name in [*texts, "modelDescription.xml"]:
            text = file.read(name)
            for part in ("/tmp/", str(Path.home()), str(Path(__file__).parents[2])):
                assert part.encode() not in text, name
    assert any(fnmatch(n, "resources/inputs/*/exomars_rt0448/robot.xml") for n in names)
    assert {"binaries/linux64/rover.so", "binaries/win64/rover.dll"} <= set(names)


def test_it_brings_a_page_that_tells_what_it_needs_and_shows(soil_fmu):
    with zipfile.ZipFile(soil_fmu) as file:
        page = ElementTree.fromstring(
            file.read("documentation/index.html").decode().replace('<meta charset="utf-8">', "")
            .removeprefix("<!DOCTYPE html>")
        )  # fmt: skip
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    shown = {row[0]: row[1:] for row in rows}
    for v in fmpy.read_model_description(str(soil_fmu)).modelVariables:
        assert v.name in shown
    assert shown["g"][:2] == ["m/s²", "3.69"] and shown["wheel.FL.sinkage"][0] == "m"
    text = " ".join("".join(page.itertext()).split())
    assert "pip install 'marsyard[fmi]'" in text and "a whole multiple of 0.02 s" in text


def test_without_marsyard_it_says_what_is_missing_and_where(torque_fmu, tmp_path):
    with zipfile.ZipFile(torque_fmu) as file:
        file.extractall(tmp_path)
    # a Python that finds nothing but the FMU's own files
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; sys.path.insert(0, sys.argv[1]); "
         "import marsyard_rover", str(tmp_path / "resources")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    last = done.stderr.strip().splitlines()[-1]
    assert "this FMU needs marsyard in the Python that loads it, 3." in last
    assert sys.prefix in last or sys.base_prefix in last
    assert "(No module named 'marsyard'): pip install" in last


def test_torques_move_it_as_they_move_the_simulation(torque_fmu):
    simulation = Simulation(validate(BASE))
    with running(torque_fmu) as rover:
        for k in range(50):
            torques = {j: 0.1 + 0.02 * i + 0.2 * np.sin(k) for i, j in enumerate(DRIVES)}
            rover.set({f"set_torque.{j}": t for j, t in torques.items()})
            # one long step counts as several short ones
            rover.step(k * STEP)
            for joint, torque in torques.items():
                simulation.torque[joint] = torque
            simulation.step(10)
            q, v = simulation.qpos, simulation.qvel
            assert rover.get("base.x", "base.y", "base.z") == list(q[:3])
            assert rover.get("base.vx", "base.wz") == [v[0], v[5]]
        joints = simulation.world.joints
        angles = rover.get(*(f"angle.{j}" for j in joints))
        assert angles == list(q[simulation._model.joint_qpos])
        work = rover.get("energy.motors")[0]
    data = simulation.dataset()
    assert work == pytest.approx(float(data.energy_motors[-1]), rel=1e-12)


def test_a_long_step_is_many_short_ones(torque_fmu):
    ends = []
    for step, count in ((STEP, 20), (4 * STEP, 5)):
        with running(torque_fmu) as rover:
            rover.set({f"set_torque.{j}": 0.3 for j in DRIVES})
            for k in range(count):
                rover.step(k * step, step)
            ends.append(rover.get("base.x", "base.z", "rate.FLWheel_y"))
    assert ends[0] == ends[1]


def test_speeds_and_angles_on_soil(soil_fmu):
    laws = [
        {"joints": "drives", "speed": 0.3},
        {"joints": "steering", "speed": "min(max((0.05 - angle)/0.1, -0.2), 0.2)"},
    ]
    simulation = Simulation(validate({**SOIL, "control": laws}))
    with running(soil_fmu) as rover:
        for name in rover.reference:
            if name.startswith("set_"):
                rover.set({name: 0.3 if "speed" in name else 0.05})
        for k in range(25):
            rover.step(k * 0.02, 0.02)
            simulation.step(10)
        assert rover.get("base.x", "base.y", "base.z") == list(simulation.qpos[:3])
        data = simulation.dataset().isel(time=-1)
        assert rover.get("angle.FLSteering_z")[0] == pytest.approx(0.05, abs=2e-3)
        for wheel in ("FL", "CR"):
            here = data.sel(wheel=wheel)
            slip, sinkage, load = rover.get(
                *(f"wheel.{wheel}.{n}" for n in ("slip", "sinkage", "force_z"))
            )
            assert slip == pytest.approx(float(here.slip_ratio), rel=1e-9)
            assert sinkage == pytest.approx(float(here.sinkage), rel=1e-9) and sinkage > 1e-3
            assert load == pytest.approx(float(here.wheel_load), rel=1e-6)


def test_its_state_can_be_saved_and_set(torque_fmu):
    seen = ("base.x", "wheel.FL.force_z", "wheel.FL.slip", "torque.FLWheel_y")
    with running(torque_fmu) as rover:
        rover.set({f"set_torque.{j}": 0.4 for j in DRIVES})
        for k in range(5):
            rover.step(k * STEP)
        here = rover.get(*seen)
        state = rover.fmu.getFMUState()
        saved = rover.fmu.serializeFMUState(state)
        rover.step(5 * STEP)
        there = rover.get(*seen)
        rover.fmu.setFMUState(state)
        assert rover.get(*seen) == here
        rover.step(5 * STEP)
        assert rover.get(*seen) == there
        rover.fmu.freeFMUState(state)
        rover.fmu.reset()
        rover.fmu.enterInitializationMode()
        rover.fmu.exitInitializationMode()
        assert rover.get("base.x") != here[:1]
        rover.fmu.setFMUState(rover.fmu.deserializeFMUState(saved))
        rover.step(5 * STEP)
        assert rover.get(*seen) == there


def test_parameters_are_set_before_it_starts(torque_fmu, soil_fmu):
    torques = {f"set_torque.{j}": 3.0 for j in DRIVES}
    way = []
    for friction in (0.1, 0.6):
        with running(torque_fmu, friction=friction) as rover:
            rover.set(torques)
            rover.step(0.0, 0.2)
            way.append(rover.get("base.x")[0])
    assert way[0] < 0.5 * way[1]
    with (
        running(soil_fmu, **{"ground[0].soil.cohesion": 5000.0}) as firm,
        running(soil_fmu) as rover,
    ):
        for each in (firm, rover):
            each.set({f"set_speed.{j}": 0.5 for j in DRIVES})
            each.step(0.0, 0.1)
        assert firm.get("base.x")[0] != rover.get("base.x")[0]


def test_fmpy_simulates_it(torque_fmu):
    signals = np.array(
        [(0.0, 0.5), (0.3, 0.5)], dtype=[("time", float), ("set_torque.FLWheel_y", float)]
    )
    found = fmpy.simulate_fmu(
        str(torque_fmu), stop_time=0.3, input=signals, start_values={"friction": 0.5},
        output=["base.x", "torque.FLWheel_y"],
    )  # fmt: skip
    assert found["time"][-1] == pytest.approx(0.3)
    assert found["base.x"][-1] > found["base.x"][0]
    assert found["torque.FLWheel_y"][-1] == 0.5


@pytest.mark.parametrize(
    ("torque", "time", "step", "said"),
    [
        (np.nan, 0.0, STEP, "the torque law on joint 'FLWheel_y' gave a value that is not finite"),
        (0.0, 0.0, 0.015, "is not a whole multiple of the control period of 0.01 s"),
        (0.0, 0.3, STEP, "the step begins at t = 0.3 s, the last ended at 0 s"),
    ],
)
def test_a_step_that_cannot_be_done_is_discarded(torque_fmu, torque, time, step, said):
    with running(torque_fmu) as rover:
        rover.set({"set_torque.FLWheel_y": torque})
        with pytest.raises(fmpy.fmi1.FMICallException, match="discard"):
            rover.step(time, step)
        assert any(said in text for text in rover.said)


def test_closed_loop_of_two_fmus_is_the_loop_inside_a_scenario(torque_fmu, tmp_path):
    controller = example_fmu("speed_controller", tmp_path)
    gains = {"gain": 2.0, "integral_gain": 5.0, "torque_max": 1.0}
    law = {"kind": "fmu", "file": str(controller), "each": "drives", "parameters": gains,
           "inputs": {"wanted": "base.z", "rate": "rate"},
           "outputs": {"torque": "torque"}}  # fmt: skip
    inside = Simulation(validate({**BASE, "control": [law]}))
    rover = Master(torque_fmu)
    pilots = {joint: Master(controller, **gains) for joint in DRIVES}
    for k in range(50):
        height = rover.get("base.z")[0]  # something to want that changes
        for joint, pilot in pilots.items():
            pilot.set(wanted=height, rate=rover.get(f"rate.{joint}")[0])
            pilot.step(k * STEP)
            rover.set({f"set_torque.{joint}": pilot.get("torque")[0]})
        rover.step(k * STEP)
        inside.step(10)
        assert rover.get("base.x", "base.y", "base.z") == list(inside.qpos[:3])
        assert (
            rover.get("rate.FLWheel_y")[0]
            == inside.qvel[inside._model.joint_dof[inside.world.joints.index("FLWheel_y")]]
        )
    assert inside.qpos[0] > 0.01
    inside.close()
    for master in (rover, *pilots.values()):
        master.close()


def test_what_cannot_be_exported(tmp_path):
    scenario = validate(BASE)

    def refused(out="a.fmu", **given):
        with pytest.raises(InputError) as error:
            export_fmu(scenario, tmp_path / out, **given)
        assert not list(tmp_path.iterdir())
        return str(error.value)

    assert "must end in .fmu" in refused("a.zip")
    assert "is not a folder" in refused("no/a.fmu")
    assert "did you mean 'speed'" in refused(inputs="sped")
    assert "did you mean 'friction'" in refused(parameters={"interaction.fricton": ""})
    assert "is not a single number" in refused(parameters={"interaction": ""})
    assert "use --set for it" in refused(parameters={"run.control_period": "h"})
    said = refused(parameters={"interaction.friction": "base.x"})
    assert said == "--parameter interaction.friction: 'base.x' is the name of another variable"
    twice = {"interaction.friction": "f", "gravity": "f"}
    assert "'f' is the name of another variable" in refused(parameters=twice)


def test_interface_file_names_what_the_variables_stand_for(torque_fmu):
    with zipfile.ZipFile(torque_fmu) as file:
        told = json.loads(file.read("resources/interface.json"))
    friction = next(v for v in told["variables"] if v["name"] == "friction")
    assert friction["source"] == "interaction.friction" and friction["start"] == 0.6


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04 broken"])
def test_a_state_that_no_fmu_saved_is_one_sentence(content):
    from marsyard.fmi.slave import RoverSlave

    with pytest.raises(InputError, match="the FMU's state: "):
        RoverSlave._fmu_state_from_bytes(content)
    good = RoverSlave._fmu_state_to_bytes({"values": [1.0], "start": 0.0, "arrays": None})
    assert RoverSlave._fmu_state_from_bytes(good) == {
        "values": [1.0], "start": 0.0, "arrays": None,
    }  # fmt: skip
    with pytest.raises(InputError, match="the FMU's state: "):
        RoverSlave._fmu_state_from_bytes(good[:-40])
