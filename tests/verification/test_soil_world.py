"""Robots on soil through the whole simulation: energy, rest, ruts, state, map, messages."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from soil_rig import Sand, Wheel
from worlds import digest, order

from marsyard.errors import InputError
from marsyard.ground.typical import SoilRemark
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Simulation, State
from marsyard.simulation.simulation import Diverged

MARS = 3.72
WEIGHT = 310 * MARS
#: soil as strong under the tread as in itself, whatever the slip
PLAIN = {"interface": False, "slip_sinkage": "none"}
BELLY = 6  # number of the belly's box among the bodies in soil
FORCE = slice(0, 3)  # columns of Simulation.attached


def rover(soil="dry_sand", slope=0.0, **parts):
    """The rover just above level or tilted soil, not settled: it sinks in within a second."""
    terrain = parts.pop("terrain", {"layers": [{"kind": "plane", "slope": slope}] if slope else []})
    ground = {"kind": "terrain", "name": "soil", "terrain": terrain, "soil": soil, "spacing": 0.02}
    robot = {
        "name": "exomars", "position": [0, 0, 0.6 / math.cos(slope)], "attitude": [0, -slope, 0],
        "springs": {"steering": {"stiffness": 1e4, "damping": 200}},
    }  # fmt: skip
    run = {"duration": 3.0, "step": 1e-3, "record_period": 0.05, "theta": 1}
    return validate({
        "robot": {**robot, **parts.pop("robot", {})},
        "ground": [{**ground, **parts.pop("ground", {})}],
        "gravity": MARS,
        "run": {**run, **parts.pop("run", {})},
        **parts,
    })  # fmt: skip


def driving(speed=0.3):
    return [{"joints": "drives", "speed": f"{speed}*min(1, max(0, t - 0.5))"}]


def rig(**settings):
    return load_scenario("soil/wheel", {"run.duration": 4, "ground.0.spacing": 0.01, **settings})


# --- energy


def imbalance(sim):
    """Motors less soil less the change of kinetic and potential energy, and the soil's part [J]."""
    d = sim.dataset()
    stored = (d.energy_kinetic + d.energy_potential).values
    off = d.energy_motors.values - d.energy_soil.values - (stored - stored[0])
    return float(np.abs(off).max()), float(d.energy_soil[-1])


def test_energy_balance_of_a_driving_rover():
    # every joule of the motors goes into the soil, motion or height; first order in the step for
    # θ = 1. Most of what is left comes from the drop into the soil: 3 per mille of the energy at
    # 1 ms, 1.6 at 0.5 ms
    off = []
    for h in (2e-3, 1e-3, 5e-4):
        gap, soil = imbalance(Simulation(rover(control=driving(), run={"step": h})).run())
        assert soil > 10
        off.append(gap / soil)
    assert off[1] < 5e-3 and off[2] < 2.5e-3
    assert 0.8 < order(off) < 1.2


def test_energy_balance_of_the_rig():
    for h, part in ((1e-3, 5e-4), (5e-4, 3e-4)):
        off, soil = imbalance(Simulation(rig(**{"run.step": h})).run())
        assert off < part * soil


def test_soil_never_gives_energy_back_but_what_it_stores():
    d = Simulation(rover(control=driving())).run().dataset()
    taken = d.energy_soil.values
    assert np.all(np.maximum.accumulate(taken) - taken < 0.03 * taken[-1])
    assert np.all(np.diff(d.energy_compaction.values) >= 0)
    assert np.all(np.diff(d.energy_shear.values) >= 0)


def test_parts_of_the_soil_energy_do_not_exceed_the_whole():
    d = Simulation(rig()).run().dataset()
    parts = float(d.energy_compaction[-1] + d.energy_shear[-1])
    assert parts <= 1.01 * float(d.energy_soil[-1])


# --- at rest


def test_a_parked_rover_stays():
    # 10 degrees of slope, brakes on (an ideal motor of gain 1e5 would itself creep by torque/gain:
    # 4 mm in ten minutes). It drops in, comes to rest, and then moves less and less
    brake = [{"joints": "drives", "speed": 0, "gain": 1e9}]
    sim = Simulation(
        rover(
            slope=math.radians(10),
            control=brake,
            run={"duration": 30, "record_period": 0.1},
            interaction={"soil": PLAIN},
        )  # fmt: skip
    ).run()
    d = sim.dataset()
    place = d.position_base.sel(axis=["x", "y"]).values
    way = np.linalg.norm(place - place[-1], axis=1)
    assert way[50] < 4e-4  # in 25 s from 5 s on
    # down the slope: it wanders by a tenth of a millimetre and goes nowhere
    x = place[:, 0]
    assert abs(x[80] - x[205]) < 5e-4 and abs(x[175] - x[300]) < 3e-4
    # the soil holds it: along the slope what gravity pulls down with, level nothing
    force = d.drawbar_pull.values[-100:].mean(axis=0).sum()
    assert force == pytest.approx(WEIGHT * math.sin(math.radians(10)), abs=0.02 * WEIGHT)
    level = d.drawbar_pull_level.values[-100:].mean(axis=0).sum()
    assert level == pytest.approx(0.0, abs=0.02 * WEIGHT)
    for name in ("side_force", "side_force_level"):
        assert d[name].values[-100:].mean(axis=0).sum() == pytest.approx(0.0, abs=0.02 * WEIGHT)
    load = d.wheel_load.values[-100:].mean(axis=0).sum()
    assert load == pytest.approx(WEIGHT, rel=0.01)


def test_sinkage_is_measured_across_the_slope():
    # eased into level soil and into a slope of 15 degrees: nearly the same load, the same depth.
    # Straight down from the wheel's lowest point it would be 5 mm less, r (1/cos 15° − 1)
    level, slope = (
        Simulation(rover(slope=math.radians(a), robot={"settle": True})).dataset().sinkage.values[0]
        for a in (0, 15)
    )
    assert 0.9 < slope.mean() / level.mean() < 1.1


def test_a_parked_rover_comes_to_rest():
    # on level soil, without any damping in the soil but its own losses
    brake = [{"joints": "drives", "speed": 0, "gain": 1e9}]
    sim = Simulation(rover(control=brake, run={"duration": 20, "step": 2e-3})).run()
    d = sim.dataset().isel(time=slice(-100, None))  # the last five seconds
    assert d.energy_kinetic.max() < 1e-5  # [J]; it fell in with several
    assert np.ptp(d.position_base.sel(axis="y").values) < 1e-5
    assert np.ptp(d.displaced_volume.values) < 1e-6


# so close that they hold all soil between them
CLOSE = {"height": "8 mm", "count": 60}


def sliding(step, shear, grousers, plain=False):
    """Acceleration down a slope of 25 degrees with brakes on, friction angle 12 degrees, no
    cohesion, firm soil (in soft soil the wheels plough until their resistance holds them)."""
    slope = math.radians(25)
    soil = {"name": "dry_sand", "friction_angle": "12 deg", "cohesion": 0, "k_phi": 1e9,
            "repose_angle": "35 deg"}  # fmt: skip
    sim = Simulation(
        rover(
            soil, slope=slope, control=[{"joints": "drives", "speed": 0, "gain": 1e9}],
            robot={"wheel": {"grousers": CLOSE if grousers else "none"}},
            interaction={"soil": {"shear": shear, **(PLAIN if plain else {})}}, run={"step": step},
        )
    ).run()  # fmt: skip
    r = sim.records
    late = r.time > 1.0
    along = r.velocities[late, :3] @ [-math.cos(slope), 0, -math.sin(slope)]
    return np.polyfit(r.time[late], along, 1)[0]


def test_beyond_the_strength_of_the_soil_it_slides():
    # g (sin − cos tan δ) with all of the strength mobilised at once (Coulomb) and nothing ploughed:
    # smooth wheels slide on their surface, δ = 2/3 φ
    slope, phi = math.radians(25), math.radians(12)
    free, rough = (
        MARS * (math.sin(slope) - math.cos(slope) * math.tan(a)) for a in (phi / 1.5, phi)
    )
    coarse, fine = (sliding(h, "coulomb", False) for h in (5e-4, 2.5e-4))
    # the stress is that at the end of the step, the wheel's surface that at its start: what sinks
    # in ahead pushes back by h v k, of first order in the step
    assert fine == pytest.approx(free, rel=0.02)
    assert 2 * fine - coarse == pytest.approx(free, rel=5e-3)
    # over a contact not much longer than K not all of the strength is mobilised: it slides faster
    assert 1.1 < sliding(1e-3, "janosi", False, plain=True) / rough < 1.25
    # grousers of 8 mm that stand close drag a layer along: locked wheels dig in and plough
    assert 0.6 < sliding(1e-3, "janosi", True, plain=True) / rough < 0.85


# --- ruts


@pytest.mark.parametrize("towed", [True, False])
def test_the_second_pass_sinks_less_and_meets_less_resistance(towed):
    bench = Wheel(speed=0.3, spacing=0.01, towed=towed, slip=0.1)
    first = bench.run(3.0)
    again = Wheel(speed=0.3, spacing=0.01, towed=towed, slip=0.1)
    second = again.run(3.0, rig=bench.rig)
    late = (first["t"] > 1.6) & (first["t"] < 2.6)
    rut = first["sinkage"][late].mean()
    deeper = second["sinkage"][late].mean() - rut
    assert 0 <= deeper < 0.5 * rut
    assert second["compaction"][late].mean() < 0.8 * first["compaction"][late].mean()
    # (a driven wheel at small slip pulls less there: its contact is shorter, less shear mobilised)
    if towed:
        assert second["pull"][late].mean() > first["pull"][late].mean() + 5


def test_a_spinning_wheel_buries_itself():
    # on the spot, with grousers of 1 cm that stand close; a smooth one stays up
    def run(grousers):
        control = [
            {"joints": "lift", "torque": "-100*min(1, t)"},
            {"joints": "travel", "speed": 0},
            {"joints": "wheel_y", "speed": "2*min(1, max(0, t - 1))"},
        ]
        wheel = {"grousers": {"count": 60, "height": "1 cm"}} if grousers else {}
        settings = {"control": control, "robot.wheel": wheel, "run.duration": 3}
        settings["interaction.soil.slip_sinkage"] = "none"
        return Simulation(rig(**settings)).run().dataset().sinkage.values[:, 0]

    digging, smooth = run(True), run(False)
    n = len(digging)
    assert digging[-1] - digging[n // 2] > 0.01
    assert np.all(np.diff(digging[n // 2 :: 20]) > 0)
    assert smooth[-1] - smooth[n // 2] < 0.005


# --- the same bits


def new(**parts):
    return Simulation(rover("krenn2008", control=driving(1.0), run={"duration": 1.2}, **parts))


@pytest.fixture(scope="module")
def through():
    return digest(new().run())


def test_twice(through):
    assert digest(new().run()) == through


def test_another_soil_differs(through):
    soil = {"name": "krenn2008", "k_phi": 60300 * (1 + 1e-12)}
    assert digest(new(ground={"soil": soil}).run()) != through


@pytest.mark.parametrize("at", [360, 733])  # right after a flow, and between two
def test_restore_and_go_on(through, at):
    sim = new()
    sim.step(at)
    state = sim.state()
    sim.step(250)
    sim.restore(state)
    assert sim.state().hash() == state.hash()
    assert digest(sim.run()) == through


def test_resume_from_a_file(tmp_path, through):
    sim = new()
    sim.step(733)
    sim.state().save(tmp_path / "state.npz")
    fresh = new()
    fresh.restore(State.load(tmp_path / "state.npz"))
    fresh.run()
    sim.run()
    assert digest(sim) == through
    assert fresh.state().hash() == sim.state().hash()


# --- the map


def test_a_large_map_costs_no_more_than_a_small_one():
    # 10 km × 10 km at 2 cm would be 2.5e11 nodes: only the tiles under the wheels exist
    sizes = []
    for half in (20, 5000):
        bounds = [[-half, half], [-half, half]]
        sim = Simulation(rover(terrain={"layers": [], "bounds": bounds}, control=driving()))
        assert sim.world.soil.grid.tiles <= 16
        sim.run()
        grid = sim.world.soil.grid
        sizes.append((grid.tiles, sum(a.nbytes for a in grid.arrays), sim.state().hash()))
    assert sizes[0] == sizes[1]
    assert sizes[0][0] < 40 and sizes[0][1] < 4e6


def test_leaving_the_map():
    bounds = [[-2, 1.2], [-2, 2]]
    parts = {"terrain": {"layers": [], "bounds": bounds}, "control": driving(2.0)}
    sim = Simulation(rover(**parts))
    with pytest.raises(Diverged, match=r"wheel F[LR] left the map at x = 1\.20\d, y = .*outside"):
        sim.run()
    assert sim.stopped and len(sim.records.time) > 10
    on = Simulation(rover(ground={"outside": "flat"}, **parts)).run()
    assert on.stopped is None and on.qpos[0] > 0.45


def test_parts_that_may_never_touch_are_one_sentence(tmp_path):
    # fourteen thin rods high on a sledge of a plate
    rods = "".join(
        f"<geom name='rod_{k}' type='box' size='.005 .005 .1' pos='{0.02 * k} 0 .3' mass='.1'/>"
        for k in range(14)
    )
    path = tmp_path / "sledge.xml"
    path.write_text(
        "<mujoco><worldbody><body name='plate' pos='0 0 .05'><freejoint/><geom name='plate' "
        f"type='box' size='.3 .2 .05' mass='5'/>{rods}</body></worldbody></mujoco>"
    )
    soil = {"kind": "terrain", "name": "soil", "terrain": {"layers": []}, "soil": "dry_sand"}
    robot, run = {"name": str(path)}, {"duration": 0.01}
    scenario = {"robot": robot, "ground": [{**soil, "spacing": 0.02}], "run": run}
    with pytest.warns(UserWarning) as heard:
        Simulation(validate(scenario))
    (words,) = [str(w.message) for w in heard if "too coarse" in str(w.message)]
    assert "too coarse for 14 other parts should they touch (least: geom 'rod_0'" in words


def test_a_grid_too_coarse_warns():
    with pytest.warns(UserWarning) as heard:
        Simulation(rover(ground={"spacing": 0.1}))
    (words,) = [str(w.message) for w in heard if w.category is UserWarning]
    assert words.startswith("ground: spacing 0.1 m is too coarse for wheel ")
    assert words.count("wheel ") == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SoilRemark)
        Simulation(rover())


@pytest.mark.parametrize(
    ("soil", "words"),
    [
        ({"name": "dry_sand", "exponent": -1}, "exponent"),
        ({"name": "dry_sand", "cohesion": "-5 Pa"}, "cohesion"),
        ({"name": "dry_sand", "friction_angle": "80 deg"}, "friction_angle"),
        ({"name": "dry_sand", "shear_modulus": 0}, "shear_modulus"),
        ({"name": "dry_sand", "k_phi": -1e9}, "k_c/b"),
        ({"name": "dry_sand", "frictionangle": 0.5}, "friction_angle"),
        ("dry_sandd", "dry_sand"),
        (None, "soil"),
    ],
)
def test_bad_soils_in_one_sentence(soil, words):
    with pytest.raises(InputError) as error:
        Simulation(rover(soil))
    text = str(error.value)
    assert words in text and "\n" not in text and len(text) < 300


# --- bodies, motors, tethers


def test_the_belly_carries_the_rover_on_a_mound():
    mound = {"layers": [{"kind": "bump", "centre": [0.03, 0], "radius": 0.5, "height": 0.36}]}
    sim = Simulation(rover(terrain=mound)).run()
    d = sim.dataset()
    late = slice(-20, None)
    assert sim.world.soil.laws[0].names[BELLY] == "geom 'belly'"
    belly = sim.attached("soil")[late, BELLY, FORCE].mean(axis=0) / 0.05
    wheels = d.wheel_load.values[late].mean(axis=0).sum()
    assert belly[2] > 0.5 * WEIGHT
    assert belly[2] + wheels == pytest.approx(WEIGHT, rel=0.02)
    # the box has pressed the mound flat under it
    assert sim.world.soil.grid.change(0.03, 0.0) < -0.02


def test_the_speed_law_holds_its_speed_and_its_limit():
    free = Simulation(rig(**{"interaction.soil": PLAIN})).run()
    d = free.dataset()
    rate = d.joint_rate.sel(joint="wheel_y").values[-50:]
    assert rate == pytest.approx(0.1 / 0.125 / 0.8, rel=1e-3)
    torque = d.driving_torque.values[-50:, 0]
    assert torque.mean() > 4
    # with a motor too weak for that slip the wheel turns slower, at its limit
    control = [
        {"joints": "lift", "torque": "-100*min(1, t)"},
        {"joints": "travel", "speed": "0.1*min(1, max(0, t-1))"},
        {"joints": "wheel_y", "speed": "min(1, max(0, t-1))", "limit": 2.5},
    ]
    weak = Simulation(rig(control=control)).run().dataset()
    given = weak.motor_torque.sel(joint="wheel_y").values
    # the step in which it reaches its limit still follows the law
    assert np.sort(np.abs(given))[-2] <= 2.5 * (1 + 1e-9) and np.abs(given).max() < 2.5 * 1.01
    assert given[-50:].mean() == pytest.approx(2.5, rel=1e-2)
    assert weak.driving_torque.values[-50:, 0].mean() == pytest.approx(2.5, rel=0.03)
    assert weak.joint_rate.sel(joint="wheel_y").values[-1] < 0.9


@pytest.mark.parametrize("anchor", [[-10.5, 0, 0.4], None])
def test_a_tether_pulls_what_the_soil_gives(anchor):
    # a spring behind the rover: it stops where the pull of all wheels equals the spring's force
    tether = {"name": "drawbar", "point": [-0.5, 0, -0.2], "stiffness": 800, "anchor": anchor}
    sim = Simulation(
        rover(control=driving(1.5), tethers=[tether], run={"duration": 8, "record_period": 0.1})
    ).run()
    d = sim.dataset()
    pull = d.tether_force.values[:, 0]
    x = d.position_base.sel(axis="x").values
    assert pull[0] == 0
    # F = k (x − x₀) while it drives straight (the rover sinks a little, too)
    assert pull[-1] == pytest.approx(800 * (x[-1] - x[0]), rel=0.05)
    late = slice(-20, None)
    soil = d.drawbar_pull.values[late].sum(axis=1).mean()
    assert soil == pytest.approx(pull[late].mean(), rel=0.02)
    # no more than the soil's strength allows
    assert pull.max() < WEIGHT * 0.8
    assert d.slip_ratio.values[-1].mean() > 0.9


def test_soil_forces_carry_the_weight():
    d = Simulation(rover(control=driving())).run().dataset()
    assert d.wheel_load.values[-20:].sum(axis=1).mean() == pytest.approx(WEIGHT, rel=0.01)


def test_recorded_forces_equal_those_of_the_bench():
    # the rig through MuJoCo and the bench of these tests: the same wheel, soil and slip
    d = Simulation(rig(**{"interaction.soil": {"flow": False, **PLAIN}})).run().dataset()
    d = d.sel(time=slice(3.0001, None))
    bench = Wheel(sand=Sand(), slip=0.2, speed=0.1, spacing=0.01, ramp=1.0, mass=6.0).run(4.0)
    late = bench["t"] > 3
    assert d.sinkage.values[:, 0].mean() == pytest.approx(bench["sinkage"][late].mean(), rel=2e-3)
    assert d.drawbar_pull.values[:, 0].mean() == pytest.approx(bench["pull"][late].mean(), abs=0.2)
    assert d.driving_torque.values[:, 0].mean() == pytest.approx(
        bench["torque"][late].mean(), rel=5e-3
    )
