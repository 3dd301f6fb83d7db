"""Wheel models under robots: the static answer in steady motion, rest, slopes, steps, ruts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_soil_world import WEIGHT, driving, rig, rover
from wheel_reference import published

from marsyard.analysis.wheel_files import read_wheel_data
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel
from marsyard.results import save
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

PEAK = {"peak_0": 0.4, "peak_1": 0.15}
SAND = "mars_sand_zhou2023"
MODELS = {
    "wong_reece": PEAK, "ishigami": PEAK, "ding": {"mean_load": 192.0},
    "magic_formula": {"nominal_load": 192.0, "peak_x": 0.5, "stiff_x": 4.0, "offset_x": -0.05,
                      "peak_y": 0.5, "stiff_y": 3.0},
    "rigid_slip": {"friction": 0.6, "stiffness": 1e5},
}  # fmt: skip


#: eighteen of them, as thick as a scenario's are by default
LUGS = {"lug_count": 18, "lug_thickness": 0.002}


def law(model="wong_reece", value=0.3, **more):
    own = MODELS[model]
    exit_ = {"rule": "height", "value": value}
    return {"wheel": {"model": model, "exit": exit_, "coefficients": own, **more}}


def driven(**parts):
    return rover(soil=parts.pop("soil", SAND), **{"interaction": law(), **parts})


# --- the static answer


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slip", [-0.2, 0.0, 0.3])
def test_steady_rolling_is_the_static_answer(model, slip):
    # the rig at forced slip on virgin soil: the transient has died out after some contact lengths
    scenario = rig(**{
        "ground.0.soil": SAND, "interaction": law(model), "run.duration": 8,
        "parameters.slip": slip,
    })  # fmt: skip
    d = Simulation(scenario).run().dataset().isel(time=slice(-20, None))
    wheel = Wheel(0.125, 0.1, Exit("height", 0.3))
    made = WheelModel(model, wheel, load_soil(SAND), MODELS[model], scenario.gravity)
    load = float(d.wheel_load.mean())
    want = made.under_load(load, slip)
    assert float(d.drawbar_pull.mean()) == pytest.approx(want.drawbar_pull, abs=5e-3 * load)
    assert float(d.driving_torque.mean()) == pytest.approx(want.torque, abs=5e-3 * load * 0.125)
    assert float(d.sinkage.mean()) == pytest.approx(want.sinkage, rel=5e-3, abs=2e-5)


def test_a_run_of_a_wheel_with_lugs_reads_back_as_its_model(tmp_path):
    lugs = {"count": 18, "height": 0.012}
    for slip in (0.1, 0.4):
        scenario = rig(**{
            "ground.0.soil": SAND, "interaction": law("ding"), "run.duration": 8,
            "parameters.slip": slip, "robot.wheel.grousers": lugs, "parameters.radius": 0.137,
        })  # fmt: skip
        save(Simulation(scenario).run().dataset(), tmp_path / "results.nc")
        data = read_wheel_data(tmp_path / "results.nc", where=["time>7"])
        # sizes, slip of the shearing radius and sinkage of the rim are those of the model
        assert (data.radius[0], data.width[0], data.lug_height[0]) == (0.125, 0.1, 0.012)
        assert data.slip[-1] == pytest.approx(slip, abs=1e-3)
        wheel = Wheel(0.125, 0.1, Exit("height", 0.3), 0.012, **LUGS)
        made = WheelModel("ding", wheel, load_soil(SAND), MODELS["ding"], scenario.gravity)
        want = made.under_load(data.load[-1], data.slip[-1])
        assert data.measured["sinkage"][-1] == pytest.approx(want.sinkage, rel=5e-3)
        assert data.measured["pull"][-1] == pytest.approx(want.drawbar_pull, abs=0.5)


def test_side_slip_sinks_the_wheel_as_the_static_answer_says():
    from marsyard import load_scenario

    soil = {"name": SAND, "exponent_side": 0.4}
    angle = math.radians(20)
    scenario = load_scenario(
        "wheel/side",
        {"ground.0.soil": soil, "robot.joints.steer": angle, "parameters.slip_angle": angle},
    )
    d = Simulation(scenario).run().dataset().sel(time=slice(7, None))
    own = {"peak_0": 0.43, "peak_1": 0.32}
    wheel = Wheel(0.125, 0.1, Exit("height", 0.2))
    load = float(d.wheel_load.mean())
    beta = float(d.slip_angle.mean())
    assert abs(beta) == pytest.approx(angle, abs=0.01)
    depth = []
    for number in (soil, SAND):
        made = WheelModel("wong_reece", wheel, load_soil(number), own, scenario.gravity)
        depth.append(made.under_load(load, 0.2, beta))
    assert depth[0].sinkage > depth[1].sinkage + 2e-3
    assert float(d.sinkage.mean()) == pytest.approx(depth[0].sinkage, rel=0.01)
    assert float(d.side_force.mean()) == pytest.approx(depth[0].side_force, rel=0.02)


# --- rest, starts and stops


@pytest.mark.parametrize("model", ["wong_reece", "ding", "rigid_slip"])
def test_a_parked_rover_stays_on_a_slope(model):
    brake = [{"joints": "drives", "speed": 0, "gain": 1e9}]
    slope = math.radians(8)
    run = {"duration": 40, "record_period": 0.5}
    d = Simulation(driven(interaction=law(model), slope=slope, control=brake, run=run)).run()
    d = d.dataset()
    place = d.position_base.sel(axis=["x", "y"]).values
    way = np.linalg.norm(place - place[-1], axis=1)
    assert way[40] < 1e-4  # in the last 20 s
    force = d.wheel_load.values[-20:].mean(axis=0).sum()
    assert force == pytest.approx(WEIGHT, rel=0.01)


@pytest.mark.parametrize("model", MODELS)
def test_forward_back_and_stop(model):
    # smooth and bounded through two reversals; comes back where it was, nearly
    control = [{"joints": "drives", "speed": "0.4*sin(1.2*t)"}]
    run = {"duration": 10.48, "record_period": 0.02}  # two periods
    sim = Simulation(driven(interaction=law(model, rut=False), control=control, run=run)).run()
    d = sim.dataset()
    late = d.sel(time=slice(1.0, None))
    load = late.wheel_load.values.sum(axis=1)
    assert np.all(np.abs(load / WEIGHT - 1) < 0.1)
    assert np.abs(late.drawbar_pull.values).max() < 0.9 * late.wheel_load.values.max()
    x = d.position_base.sel(axis="x").values
    assert np.ptp(x) > 0.05
    assert abs(x[-1] - x[262]) < 0.25 * np.ptp(x[262:])  # one period before


@pytest.mark.parametrize("model", ["wong_reece", "ding"])
def test_step_of_one_and_of_five_milliseconds(model):
    ends = []
    for h in (1e-3, 5e-3):
        run = {"duration": 6.0, "step": h}
        sim = Simulation(driven(interaction=law(model), control=driving(), run=run)).run()
        d = sim.dataset().isel(time=slice(-20, None))
        ends.append([float(d.position_base.sel(axis="x")[-1]), float(d.sinkage.mean()),
                     float(d.driving_torque.mean())])  # fmt: skip
    assert ends[1] == pytest.approx(ends[0], rel=0.03)


def test_lift_off_and_touch_down():
    # dropped from a hand's breadth onto its wheels, then it stands
    d = Simulation(driven(robot={"position": [0, 0, 0.8]}, run={"duration": 5})).run().dataset()
    assert d.wheel_load.values[0].sum() == 0.0
    assert float(d.energy_kinetic[-1]) < 1e-3
    assert d.wheel_load.values[-1].sum() == pytest.approx(WEIGHT, rel=0.01)


# --- terrain


@pytest.mark.parametrize("heading", [0.0, 40.0, 90.0])
def test_forces_on_a_slope_follow_its_plane(heading):
    # parked on a plane of 10 degrees: the soil's forces add up to the weight, whatever the heading
    slope = math.radians(10)
    plane = {"layers": [{"kind": "plane", "slope": slope}]}
    yaw = math.radians(heading)
    brake = [{"joints": "drives", "speed": 0, "gain": 1e9}]
    sim = Simulation(driven(
        terrain=plane, control=brake, run={"duration": 8},
        robot={"position": [0, 0, 0.7], "attitude": [0, 0, yaw]},
    )).run()  # fmt: skip
    sums = sim.attached("wheel_model")[-40:, :, :3].sum(axis=1).mean(axis=0) / 0.05
    assert sums[2] == pytest.approx(WEIGHT, rel=0.01)
    assert np.abs(sums[:2]).max() < 0.01 * WEIGHT


def test_later_wheels_sink_less_in_the_rut():
    run = {"duration": 40}
    sim = Simulation(driven(control=driving(), run=run)).run()
    soil = sim.world.soil
    d = sim.dataset().isel(time=slice(-20, None))
    deep = {str(w): float(v) for w, v in zip(d.wheel.values, d.sinkage.mean("time"), strict=True)}
    front, centre, rear = (0.5 * (deep[a + "L"] + deep[a + "R"]) for a in "FCR")
    # each axle goes a little deeper than the one before, but not by as much again
    assert front < centre < rear < 1.8 * front
    # where the centre wheel has just been the rut is as deep as its rim, to which sinkage counts,
    # less what its lugs had dug and laid down again, and less the rebound of the soil
    pressing = soil.pressing()
    x, y, _ = pressing.position[pressing.names.index("wheel CL")]
    centre_wheel = d.sel(wheel="CL").mean("time")
    rebound = float(centre_wheel.wheel_load / centre_wheel.contact_area) / 2e7
    want = deep["CL"] - rebound
    assert -float(soil.grid.change(x - 0.1, y)) == pytest.approx(want, rel=0.06)
    without = Simulation(
        driven(control=driving(), run={"duration": 4}, interaction=law(rut=False))
    ).run()
    assert not np.any(without.world.soil.grid.arrays.depth)


def test_the_soil_of_ruts_lies_beside_them():
    control = driving()
    sim = Simulation(driven(control=control, run={"duration": 6}))
    plain = {**law(), "soil": {"flow": False}}
    bare = Simulation(driven(control=control, run={"duration": 6}, interaction=plain))
    for one in (sim, bare):
        one.step(6000)
    grid = sim.world.soil.grid
    # as much as the ruts hold, in heaps no steeper than the angle of repose
    assert grid.moved_volume() > 1e-3
    assert abs(grid.missing_volume()) < 1e-15
    used = grid.tiles * 1024
    assert np.all(bare.world.soil.grid.arrays.ref[:used] == 0.0)
    assert bare.world.soil.grid.missing_volume() < -1e-3
    ref = grid.arrays.ref[:used].reshape(-1, 32, 32)
    soil = load_soil(SAND)
    steepest = math.tan(soil.repose_angle or soil.friction_angle) * grid.spacing
    assert ref.max() > 0.01
    # across: along x they end where the wheels set out, as they sink in
    assert np.abs(np.diff(ref, axis=2)).max() < 1.1 * steepest
    # wheels that follow in the rut are hardly lifted by them
    assert sim.qpos[2] - bare.qpos[2] == pytest.approx(0.0, abs=3e-4)


def test_rough_terrain_is_crossed_and_the_state_can_be_saved():
    layer = {"kind": "fractal", "hurst": 0.75, "roughness": 0.04, "lag": 1.0, "spacing": 0.1}
    rough = {"seed": 3, "layers": [{**layer, "patch": 12.8}]}
    scenario = driven(terrain=rough, control=driving(), run={"duration": 6}, robot={"settle": True})
    one = Simulation(scenario)
    one.step(2500)
    kept = one.state()
    one.step(1000)
    other = Simulation(scenario)
    other.restore(kept)
    other.step(1000)
    assert np.array_equal(one.qpos, other.qpos)
    assert one.qpos[0] > 0.05


# --- wrong input


def test_the_published_models_are_to_be_had():
    # without what the tread makes of the soil, a run is the published model
    options = {"interface": False, "slip_sinkage": "exponent", "slip_transport": False}
    scenario = rig(**{
        "ground.0.soil": SAND, "interaction": {**law("wong_reece"), "soil": options},
        "run.duration": 8, "parameters.slip": 0.3,
    })  # fmt: skip
    d = Simulation(scenario).run().dataset().isel(time=slice(-20, None))
    wheel = Wheel(0.125, 0.1, Exit("height", 0.3))
    made = published("wong_reece", wheel, load_soil(SAND), PEAK, scenario.gravity)
    load = float(d.wheel_load.mean())
    want = made.under_load(load, 0.3)
    assert float(d.drawbar_pull.mean()) == pytest.approx(want.drawbar_pull, abs=5e-3 * load)
    assert float(d.sinkage.mean()) == pytest.approx(want.sinkage, rel=5e-3, abs=2e-5)


@pytest.mark.parametrize("slip", [0.0, 0.2, 0.6])
def test_lugs_dig_to_the_depth_of_the_static_answer(slip):
    # no exit rule: rebound and carried soil decide; the trench of a steady wheel is δ s/(1 − s)
    lugs = {"count": 18, "height": 0.012, "thickness": 0.002}
    scenario = rig(**{
        "ground.0.soil": SAND, "interaction": {"wheel": {"model": "wong_reece"}},
        "run.duration": 12, "parameters.slip": slip, "robot.wheel.grousers": lugs,
        "parameters.radius": 0.137,
    })  # fmt: skip
    d = Simulation(scenario).run().dataset().isel(time=slice(-20, None))
    wheel = Wheel(0.125, 0.1, lug_height=0.012, lug_count=18, lug_thickness=0.002)
    made = WheelModel("wong_reece", wheel, load_soil(SAND), gravity=scenario.gravity)
    load = float(d.wheel_load.mean())
    want = made.under_load(load, slip)
    assert float(d.sinkage.mean()) == pytest.approx(want.sinkage, rel=0.01)
    assert float(d.drawbar_pull.mean()) == pytest.approx(want.drawbar_pull, abs=5e-3 * load)


def test_missing_coefficients_are_named():
    bad = {"wheel": {"model": "magic_formula"}}
    with pytest.raises(InputError, match="nominal_load"):
        Simulation(rover(soil=SAND, interaction=bad))


@pytest.mark.parametrize(
    "wheel",
    [
        "{model: ding, exit: {rule: height, value: 0.2}, coefficients: {mean_load: 100}}",
        "{model: magic_formula, exit: {rule: angle, value: 0}, "
        "coefficients: {nominal_load: 100, peak_x: 0.4, stiff_x: 4}}",
        "{model: rigid_slip, exit: {rule: angle, value: 0}, coefficients: {friction: 0.6}}",
    ],
)
def test_the_rig_takes_every_model_as_its_description_says(wheel):
    from marsyard.scenario import parse_setting

    path, value = parse_setting(f"interaction.wheel={wheel}")
    sim = Simulation(load_scenario("wheel/pull", {path: value, "run.duration": 2}))
    sim.run()
    assert float(sim.dataset().drawbar_pull[-1, 0]) > 5.0


def test_slip_counts_at_the_tips_of_the_lugs_as_in_the_model():
    lugs = {"count": 18, "height": 0.012}
    sim = Simulation(
        load_scenario(
            "wheel/pull",
            {
                "robot.wheel.radius": 0.13, "robot.wheel.width": 0.15, "robot.joints.lift": 0.005,
                "robot.wheel.grousers": lugs, "parameters.radius": 0.142,
            },
        )
    )  # fmt: skip
    sim.run()
    wheel = Wheel(0.13, 0.15, Exit("height", 0.2), 0.012, **LUGS)
    model = WheelModel(
        "wong_reece", wheel, load_soil("mars_sand_zhou2023"), {"peak_0": 0.43, "peak_1": 0.32}
    )
    pull = model.under_load(100.0, slip=0.2).drawbar_pull
    assert float(sim.dataset().drawbar_pull[-1, 0]) == pytest.approx(float(pull), rel=0.01)
