"""`marsyard export ROBOT --fmu`, and a scenario whose controller is an FMU, from the shell."""

from __future__ import annotations

import fmpy
import yaml
from command import run_here
from fmpy.validation import validate_fmu
from fmu_files import example_fmu

import marsyard


def test_a_robot_is_exported_and_bad_input_is_one_sentence(tmp_path):
    asked = ["export", "sojourner", "--fmu", "--ground", "flat", "--soil", "dry_sand"]
    done = run_here([*asked, "--parameter", "ground.0.soil.friction_angle=phi"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "sojourner.fmu"
    file = tmp_path / "sojourner.fmu"
    assert validate_fmu(str(file)) == []
    named = {v.name: v for v in fmpy.read_model_description(str(file)).modelVariables}
    assert named["phi"].unit == "rad" and 0.3 < float(named["phi"].start) < 0.8
    done = run_here(["export", "sojournr", "--fmu"], tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'sojournr' is neither a robot nor a scenario; did")
    assert done.stderr.count("\n") == 1
    twice = ["--parameter", "gravity=g", "--parameter", "gravity=h"]
    done = run_here(["export", "sojourner", "--fmu", *twice], tmp_path)
    assert done.returncode == 2
    said = "is given twice; a value can have only one name"
    assert done.stderr == f"error: --parameter gravity: {said}\n"
    assert [p.name for p in tmp_path.iterdir()] == ["sojourner.fmu"]


def test_a_scenario_with_an_fmu_runs(tmp_path):
    example_fmu("dc_motor", tmp_path)
    law = {"kind": "fmu", "file": "DcMotor.fmu", "name": "motor", "each": "drives",
           "inputs": {"voltage": "6*min(1, t)", "rate": "rate"},
           "outputs": {"torque": "torque"}}  # fmt: skip
    scenario = {
        "robot": {"name": "exomars_rt0448", "settle": True}, "control": [law],
        "run": {"duration": 1, "step": 0.001, "control_period": 0.01, "record_period": 0.1},
    }  # fmt: skip
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario))
    data = marsyard.run(tmp_path / "s.yaml").data
    warm = data.fmu_output.sel(fmu="motor.FLWheel_y.temperature").values
    assert warm[-1] > warm[1] >= 230.0
    assert float(data.position_base.sel(axis="x")[-1]) > 0.01
