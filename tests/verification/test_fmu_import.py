"""FMUs of others inside a scenario: the same motion as by the same law in Python, and mistakes."""

from __future__ import annotations

import gc
import re
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fmu_files import FAILING, LAW_3, changed, example_fmu, fmu_of

import marsyard
from marsyard.control.fmu import FmuFile, FmuUnit
from marsyard.errors import InputError
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Diverged, Simulation

PERIOD = 0.01
BASE = {
    "robot": {"name": "exomars_rt0448", "settle": True},
    "run": {"duration": 0.5, "step": 0.001, "control_period": PERIOD, "record_period": 0.1},
}
PI = {"gain": 1.0, "integral_gain": 2.0, "torque_max": 0.4}


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    return example_fmu("speed_controller", tmp_path_factory.mktemp("controller"))


@pytest.fixture(scope="module")
def motor(tmp_path_factory):
    return example_fmu("dc_motor", tmp_path_factory.mktemp("motor"))


def speed_law(controller, **more):
    return {
        "kind": "fmu", "file": str(controller), "name": "pi", "each": "drives",
        "inputs": {"wanted": "0.5*min(1, t/0.2)", "rate": "rate"}, "outputs": {"torque": "torque"},
        "parameters": PI, **more,
    }  # fmt: skip


def unpacked():
    return set(Path(tempfile.gettempdir()).glob("marsyard-fmu-*"))


def test_controller_moves_the_rover_as_the_same_law_by_hand(controller):
    simulation = Simulation(validate({**BASE, "control": [speed_law(controller)]}))
    simulation.run()
    by_hand = Simulation(validate(BASE))
    drives = by_hand.world.robot.roles["drives"]
    integral = dict.fromkeys(drives, 0.0)
    for k in range(50):
        for joint in drives:
            rate = by_hand.qvel[by_hand.model.jnt_dofadr[by_hand.model.joint(joint).id]]
            error = 0.5 * min(1, k * 10 * 0.001 / 0.2) - rate
            stored = integral[joint] + error * PERIOD
            asked = PI["gain"] * error + PI["integral_gain"] * stored
            torque = max(-PI["torque_max"], min(PI["torque_max"], asked))
            integral[joint] = stored if torque == asked else integral[joint]
            by_hand.torque[joint] = torque
        by_hand.step(10)
    assert simulation.qpos[0] > 0.01
    assert np.array_equal(simulation.qpos, by_hand.qpos)
    simulation.close()


def test_motor_takes_the_voltage_of_a_controller_before_it(controller, motor):
    scenario = validate({**BASE, "control": [
        {**speed_law(controller), "each": None, "outputs": {}, "inputs": {"wanted": 0.5,
         "rate": "rate.FLWheel_y"}, "parameters": {"gain": 8.0, "torque_max": 24.0}},
        {"kind": "fmu", "file": str(motor), "each": "drives", "outputs": {"torque": "torque"},
         "inputs": {"voltage": "pi.torque", "rate": "rate"}, "parameters": {"gear": 50}},
    ]})  # fmt: skip
    simulation = Simulation(scenario)
    before = simulation.state()
    simulation.step(200)
    rates = np.array(simulation.qvel[simulation._model.joint_dof])
    simulation.step(10)
    out = dict(zip(simulation.fmus.names, simulation.fmus.log[-1][1], strict=True))
    j = simulation.world.joints.index("FRWheel_y")
    warm = 2.0 * (1 + 0.0039 * (out["DcMotor.FRWheel_y.temperature"] - 230.0))
    current = (out["pi.torque"] - 0.025 * 50 * rates[j]) / warm
    assert out["DcMotor.FRWheel_y.current"] == pytest.approx(current, rel=1e-6)
    assert simulation._commands.torque[j] == pytest.approx(50 * 0.025 * 0.6 * current, rel=1e-6)
    # its winding got warm by R i², little in so short a time
    assert 230.0 < out["DcMotor.FRWheel_y.temperature"] < 230.5
    # and all of it can be branched: the FMUs go back, too
    end = np.array(simulation.qpos)
    simulation.restore(before)
    simulation.step(210)
    assert np.array_equal(simulation.qpos, end)
    recorded = simulation.dataset().fmu_output
    assert recorded.sel(fmu="DcMotor.FRWheel_y.current").values[-1] != 0.0
    simulation.close()


def test_readings_and_expressions_are_inputs(controller):
    law = {**speed_law(controller), "each": None, "outputs": {"torque": "speed.drives"},
           "inputs": {"wanted": "wheel.FL.force_z", "rate": "x + angle.FLWheel_y"},
           "period": "20 ms", "parameters": {"gain": 1.0, "integral_gain": 0.0,
                                              "torque_max": 0.2}}  # fmt: skip
    simulation = Simulation(validate({**BASE, "control": [law]}))
    simulation.step(41)
    assert [t for t, _ in simulation.fmus.log] == pytest.approx([0.0, 0.02, 0.04])
    assert simulation.fmus.log[-1][1][0] == 0.2  # the wheel's load, limited
    assert simulation.qvel[simulation._model.joint_dof].max() == pytest.approx(0.2, rel=1e-3)
    simulation.close()


def test_a_mean_force_counts_every_record_of_its_period(controller):
    # what the FMU gives is the load it reads; that of a rover at rest does not change
    law = {"kind": "fmu", "file": str(controller), "period": 0.1, "name": "scales",
           "inputs": {"wanted": "wheel.FL.force_z", "rate": "sin(50*t)"},
           "parameters": {"gain": 1.0, "integral_gain": 0.0, "torque_max": 1e6}}  # fmt: skip
    run = {**BASE["run"], "record_period": 0.02}
    simulation = Simulation(validate({**BASE, "control": [law], "run": run}))
    simulation.step(250)
    saved = simulation.state()
    simulation.step(151)
    read = [value + np.sin(50 * t) for t, (value,) in simulation.fmus.log]
    recorded = simulation.dataset().contact_impulse_world.sel(wheel="FL", axis="z")
    load = float(recorded[1:].mean()) / 0.02
    assert read[1:] == pytest.approx([load] * 4, rel=1e-6) and load > 20.0
    # and a state between two calls knows the records before it, bit for bit
    end = [given[0] for _, given in simulation.fmus.log]
    simulation.restore(saved)
    simulation._counters[1] = 0  # they are gone where a run goes on from a file
    simulation.step(151)
    assert [given[0] for _, given in simulation.fmus.log] == end
    simulation.close()


def test_an_fmu_by_fmi_3(tmp_path):
    builder = pytest.importorskip("pythonfmu3.builder")
    script = tmp_path / "law.py"
    script.write_text(LAW_3)
    file = builder.FmuBuilder.build_FMU(script, dest=tmp_path)
    law = {"kind": "fmu", "file": str(file), "each": "drives", "parameters": {"gain": 0.5},
           "inputs": {"wanted": 0.4, "rate": "rate"}, "outputs": {"torque": "torque"}}  # fmt: skip
    simulation = Simulation(validate({**BASE, "control": [law]})).run()
    same = [{"joints": "drives", "torque": "0.5*(0.4 - rate)"}]
    expected = Simulation(validate({**BASE, "control": same})).run()
    assert simulation.fmus._units[0].unit.file.version.startswith("3.")
    assert np.array_equal(simulation.qpos, expected.qpos)
    simulation.close()


def test_a_failing_step_stops_the_run_and_keeps_what_it_recorded(tmp_path):
    before = unpacked()
    file = fmu_of(FAILING, "failing", tmp_path)
    law = {"kind": "fmu", "file": str(file), "outputs": {"torque": "torque.drives"}}
    scenario = validate({**BASE, "control": [law]})
    simulation = Simulation(scenario)
    with pytest.raises(Diverged) as stop:
        simulation.run()
    said = str(stop.value)
    assert said.startswith("stopped at t = 0.2 s: control.0: Failing.fmu: its step failed (")
    assert "the winding melts" in said and "\n" not in said
    assert simulation.dataset().time.values == pytest.approx([0.0, 0.1, 0.2])
    run = marsyard.run(scenario)
    assert run.stopped == said and not run.ok
    # nothing is left behind, also where nobody closes
    simulation = run = stop = None
    gc.collect()
    assert unpacked() == before


def test_each_instance_is_blamed_with_its_own_words(tmp_path):
    file = FmuFile(fmu_of(FAILING, "failing", tmp_path))
    early, first, last = (FmuUnit(file, [], ["torque"]) for _ in range(3))
    for unit in (first, last):
        with pytest.raises(InputError, match="the winding melts"):
            unit.step(0.3, 0.01, [])
    # the standard allows no call after that
    with pytest.raises(InputError, match="has failed permanently"):
        first.step(0.0, 0.01, [])
    # one that goes on is heard when the one that was started last is gone
    last.close()
    last = unit = None
    gc.collect()
    with pytest.raises(InputError, match="the winding melts"):
        early.step(0.3, 0.01, [])
    file.close()


def test_a_library_that_cannot_be_loaded_leaves_the_folder_as_it_is(
    controller, tmp_path, monkeypatch
):
    def broken(name):
        return "binaries/linux64/other.so" if name.endswith(".so") else name

    monkeypatch.chdir(tmp_path)
    file = changed(controller, tmp_path / "bad.fmu", broken)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("binaries/linux64/SpeedController.so", b"no library")
    opened = FmuFile(file)
    with pytest.raises(InputError) as error:
        FmuUnit(opened, [], ["torque"])
    opened.close()
    said = str(error.value)
    assert "cannot be started (Failed to load shared library binaries/linux64/" in said
    assert Path.cwd() == tmp_path and tempfile.gettempdir() not in said


def test_mistakes_in_the_scenario(controller):
    def refused(**change):
        with pytest.raises(InputError) as error:
            Simulation(validate({**BASE, "control": [speed_law(controller, **change)]}))
        assert "\n" not in str(error.value)
        return str(error.value)

    before = unpacked()
    name = "control.0: SpeedController.fmu: "
    assert refused(inputs={"wnted": 1}) == f"{name}has no variable 'wnted'; did you mean 'wanted'?"
    assert "'torque' is of causality output, not input" in refused(inputs={"torque": 1})
    assert "did you mean 'gain'" in refused(parameters={"gian": 1.0})
    assert "is of type Real, but is given 'high'" in refused(parameters={"gain": "high"})
    assert "torque alone, of the joint it is for" in refused(outputs={"torque": "torque.drives"})
    assert "torque.JOINT or speed.JOINT" in refused(outputs={"torque": "voltage.drives"})
    assert "did you mean 'drives'" in refused(each="drive")
    assert "unknown joint" in refused(inputs={"wanted": "rate.FLWheel"})
    assert "did you mean 'wheel.FL.slip'" in refused(inputs={"wanted": "wheel.FL.slp"})
    assert "name a joint" in refused(each=None, inputs={"wanted": "rate"},
                                     outputs={"torque": "torque.drives"})  # fmt: skip
    order = [
        speed_law(controller, inputs={"wanted": "two.torque"}),
        speed_law(controller, name="two"),
    ]
    with pytest.raises(
        InputError, match="'two' is an FMU later in the list; move it before this one"
    ):
        Simulation(validate({**BASE, "control": order}))
    assert "whole multiple of run.control_period" in refused(period=0.015)
    assert "each: names no joint" in refused(each=[])
    assert "name: 'base' must be a name without a dot" in refused(name="base")
    assert "name: 'a.b' must be a name without a dot" in refused(name="a.b")
    assert "unknown reading 'pi.x'; valid: " in refused(inputs={"wanted": "pi.x"})
    assert "parameters: 'gain' is nan; a finite number, " in refused(parameters={"gain": np.nan})
    assert "inputs: 'wanted' is [1]; a finite number or" in refused(inputs={"wanted": [1]})
    gc.collect()
    assert unpacked() == before


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda f, t: t, "no such file"),
        (lambda f, t: t.write_text("no zip") and t, "is not an FMU, which is a zip file"),
        (lambda f, t: t.write_bytes(f.read_bytes()[:5000]) and t, "or is not complete"),
        (lambda f, t: changed(f, t, lambda n: None if n.endswith(".xml") else n),
         "holds no modelDescription.xml"),
        (lambda f, t: changed(f, t, lambda n: None if "linux" in n else n),
         "holds binaries for win64 only; this machine is linux64"),
        (lambda f, t: changed(f, t, lambda n: None if "binaries" in n else n),
         "holds no binaries; this machine is"),
        (lambda f, t: changed(f, t, None, lambda x: x.replace('fmiVersion="2.0"',
         'fmiVersion="1.0"')), "FMI 1.0; export it for FMI 2.0 or 3.0"),
        (lambda f, t: changed(f, t, None, lambda x: x.replace("CoSimulation", "ModelExchange")),
         "is for model exchange only"),
        (lambda f, t: changed(f, t, None, lambda x: x[:300]), "Description.xml cannot be read"),
        (lambda f, t: changed(f, t, None, lambda x: x.replace('valueReference="1"', "")),
         "attribute 'valueReference' is required but missing"),
        (lambda f, t: changed(f, t, None, lambda x: "<model/>"), "it has no fmiVersion"),
        (lambda f, t: changed(f, t, None, lambda x: re.sub('modelIdentifier="[^"]*"', "", x)),
         "names no modelIdentifier"),
        (lambda f, t: changed(f, t, lambda n: "sources/m.c" if "linux" in n else
                              None if "win" in n else n), "C code and no binaries"),
    ],
    ids=["missing", "text", "truncated", "no-xml", "platform", "binaries", "fmi1", "me", "xml",
         "reference", "other-xml", "identifier", "source"],
)  # fmt: skip
def test_files_that_cannot_be_used_are_refused_in_one_sentence(controller, tmp_path, make, said):
    before = unpacked()
    with pytest.raises(InputError) as error:
        FmuFile(make(controller, tmp_path / "bad.fmu"))
    assert str(error.value).startswith("fmu: bad.fmu: ")
    assert said in str(error.value) and "\n" not in str(error.value)
    assert unpacked() == before


def test_a_unit_alone(controller):
    file = FmuFile(controller)
    unit = FmuUnit(file, ["wanted", "rate"], ["torque"], {"gain": 2.0, "integral_gain": 0.0})
    assert unit.step(0.0, 0.01, [0.75, 0.25]) == pytest.approx([1.0])
    saved = unit.state()
    unit.step(0.01, 0.01, [9.0, 0.0])
    unit.restore(saved)
    assert unit.outputs() == pytest.approx([1.0])
    with pytest.raises(InputError, match="its input 'rate' would be nan"):
        unit.step(0.01, 0.01, [0.0, np.nan])
    unit.close()
    with pytest.raises(InputError, match="is closed already"):
        unit.outputs()
    file.close()
    assert not file.folder.exists()


def test_path_of_an_fmu_counts_from_the_scenario(controller, tmp_path):
    (tmp_path / "a.fmu").write_bytes(controller.read_bytes())
    (tmp_path / "s.yaml").write_text(
        "robot: {name: exomars_rt0448}\nrun: {duration: 1}\ncontrol:\n"
        "  - {kind: fmu, file: a.fmu, each: drives, outputs: {torque: torque}}\n"
    )
    assert load_scenario(tmp_path / "s.yaml").control[0].file == str(tmp_path / "a.fmu")
