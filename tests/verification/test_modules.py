"""The four modules as black boxes: each replaced from outside by a few lines of Python."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import marsyard
from marsyard.analysis.statics import chassis_of
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.modules import (
    BaseState,
    ContactBodyStates,
    ContactBodyWrenches,
    EngineMultibody,
    JointCommands,
    JointStates,
    SoilInteraction,
    Yard,
)
from marsyard.robot import load_robot
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Diverged, Simulation

G = 3.72
STIFF = 2e4  # N/m, of the ground of springs


def springs(time, step, organs):
    """Ground of springs and dampers, implicit."""
    depth = organs.radius - organs.position[:, 2]
    on = (depth > 0) & (organs.radius > 0)
    force = np.zeros_like(organs.position)
    force[:, 2] = np.where(on, STIFF * depth - 1500 * organs.velocity[:, 2], 0)
    damping = np.zeros((len(on), 7, 7))
    damping[on, 2, 2] = 1500 + STIFF * step
    return ContactBodyWrenches(force, damping=damping)


def hold(time, joints, base, wrenches):
    """Drives and steering stand, bogies are free."""
    held = np.array([n.endswith(("Wheel_y", "Steering_z")) for n in joints.name])
    return JointCommands(speed=np.where(held, 0.0, np.nan))


def rover(**run):
    """ExoMars on a plane."""
    return validate(
        {
            "robot": {"name": "exomars", "settle": True},
            "gravity": G,
            "run": {"duration": 2, "step": "1 ms", "record_period": "20 ms", "theta": 1, **run},
        }
    )


def wheel_rig(**changes):
    """The single wheel on soil."""
    run = {"duration": 1.2, "step": 1e-3, "record_period": 0.02, "theta": 1}
    return load_scenario("soil/wheel", {"study": None, "run": {**run, **changes}})


# --- multibody


class Plate:
    """A plate of 5 kg under a weight, on a dashpot."""

    def __init__(self, weight):
        self.weight, self.z, self.v = weight, 0.0, 0.0

    def organs(self):
        return ContactBodyStates(("Plate",), [[0, 0, self.z]], [[0, 0, self.v]])

    def joints(self):
        return JointStates((), [], [])

    def base(self):
        return BaseState([0, 0, self.z], [1, 0, 0, 0], [0, 0, self.v], [0, 0, 0])

    def advance(self, step, commands, wrenches):
        force = wrenches.force[0, 2] - self.weight - 500 * self.v
        self.v += step * force / (5 + 500 * step)
        self.z += step * self.v


@pytest.mark.parametrize("weight", [20.0, 60.0])
def test_own_multibody_sinks_as_bekker_says(weight):
    changes = {"study": None, "control": [], "run.duration": 3}
    yard = Yard(load_scenario("soil/plate", changes), multibody=Plate(weight)).run()
    soil, radius = load_soil("soil_wheel_default"), 0.05
    modulus = soil.number("k_c") / radius + soil.number("k_phi")
    depth = (weight / (np.pi * radius**2) / modulus) ** (1 / soil.number("exponent"))
    ds = yard.dataset()
    # nodes of the grid under a round plate, see the scenario's description
    assert -ds.contact_body_position.values[-1, 0, 2] == pytest.approx(depth, rel=0.02)
    assert ds.ground_force.values[-1, 0, 2] == pytest.approx(weight, rel=1e-3)
    assert ds.contact_body_position.attrs["units"] == "m"


# --- all boxes are marsyard's own


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_yard_of_default_boxes_is_the_engine(theta):
    # the same law, the same step, forces through the ports: only rounding may differ
    scenario = wheel_rig(theta=theta)
    engine = Simulation(scenario).run().dataset()
    yard = Yard(scenario).run().dataset()
    assert yard.time.values == pytest.approx(engine.time.values)
    assert yard.joint_angle.values == pytest.approx(engine.joint_angle.values, abs=1e-12)
    assert yard.ground_force.values[-1, 0, 2] == pytest.approx(
        float(engine.wheel_load[-1, 0]), rel=0.02
    )


def test_explicit_exchange_converges_to_the_engine():
    far = []
    for step in (1e-3, 5e-4):
        scenario = wheel_rig(step=step)
        soil = SoilInteraction(scenario)

        def explicit(time, step, organs, soil=soil):
            return replace(soil(time, step, organs), damping=0.0)

        one = Simulation(scenario).run().dataset().joint_angle
        other = Simulation(scenario, interaction=explicit).run().dataset().joint_angle
        far.append(np.abs(one - other).max().item())
    # of 23 mm
    assert far[0] < 5e-5
    assert far[1] < 0.6 * far[0]


def test_soil_under_geoms_through_the_ports():
    # a plate is a geom away from its body's origin: arms, moments and 6 × 6 damping count
    changes = {"study": None, "run.duration": 1, "run.theta": 0.5}
    scenario = load_scenario("soil/plate", changes)
    engine = Simulation(scenario).run().dataset()
    own = Simulation(scenario, interaction=SoilInteraction(scenario)).run().dataset()
    assert own.motor_torque.values == pytest.approx(engine.motor_torque.values, abs=1e-6)
    assert np.abs(engine.motor_torque.values).max() > 10


def tracked():
    """The tracked rover, let down on soil from just above it, its belts turning."""
    return validate(
        {
            "robot": {"name": "tracked_rover", "position": [0, 0, 0.252]},
            "ground": [{"kind": "terrain", "soil": "dry_sand", "spacing": "2 cm"}],
            "control": [{"joints": "drives", "speed": 1.0}],
            "run": {"duration": 0.3, "record_period": 0.02},
        }
    )


def columns():
    """The wheel rig on soil in columns, which flows in time."""
    run = {"run.duration": 1.2, "run.record_period": 0.02}
    return load_scenario("soil/columns-wheel", {"study": None, **run})


@pytest.mark.parametrize("scenario", [tracked, columns])
def test_tracks_and_columns_through_the_ports(scenario):
    engine = Simulation(scenario()).run()
    own = Simulation(scenario(), interaction=SoilInteraction(scenario())).run()
    assert own.qpos == pytest.approx(engine.qpos, abs=1e-9)
    assert own.qvel == pytest.approx(engine.qvel, abs=1e-7)
    one, other = engine.dataset(), own.dataset()
    assert other.motor_torque.values == pytest.approx(one.motor_torque.values, abs=1e-5)
    assert np.abs(one.motor_torque.values).max() > 0.1


def test_hard_ground_stays_in_the_multibody_box():
    scenario = rover(duration=0.2)
    engine = Simulation(scenario).run().dataset()
    yard = Yard(scenario).run().dataset()
    assert yard.base_position.values[-1] == pytest.approx(engine.position_base.values[-1], abs=1e-9)
    with pytest.raises(InputError, match="hard ground is solved inside"):
        Yard(scenario, multibody=EngineMultibody(scenario))


# --- interaction


def test_rover_on_springs_weighs_what_statics_says():
    sim = Simulation(rover(), control=hold, interaction=springs).run()
    ds = sim.dataset()
    chassis = chassis_of(load_robot("exomars"))
    load = ds.contact_body_force.sel(contact_body=list(chassis.names), axis="z").values[-1]
    assert load == pytest.approx(chassis.loads(0.0, G), rel=2e-2)
    assert load.sum() == pytest.approx(chassis.mass * G, rel=1e-4)
    # and each wheel has sunk by its load
    depth = chassis.radius - ds.wheel_position.sel(axis="z").values[-1]
    assert depth == pytest.approx(load / STIFF, rel=1e-3)
    # wheels' impulses are recorded as those of any law
    impulse = ds.contact_impulse_world.sel(axis="z").values[-1] / 0.02
    assert impulse == pytest.approx(load, rel=1e-6)


def test_energy_that_an_own_ground_takes_is_recorded():
    # the rover sinks into the springs: what it loses, the ground has taken
    ds = Simulation(rover(duration=0.3, step=5e-4, theta=0.5), control=hold, interaction=springs)
    ds = ds.run().dataset()
    energy = ds.energy_kinetic + ds.energy_potential - ds.energy_motors
    lost = (energy[0] - energy).values
    assert lost[-1] > 5
    assert ds.energy_ground.values == pytest.approx(lost, abs=0.02 * lost[-1])


def test_damping_makes_a_stiff_ground_stable():
    def hard(time, step, organs):
        soft = springs(time, step, organs)
        return replace(soft, force=500 * soft.force, damping=500 * soft.damping)

    def explicit(time, step, organs):
        return replace(hard(time, step, organs), damping=0.0)

    # ω h = 20 and more for a wheel of a few kg on 10⁷ N/m
    sim = Simulation(rover(duration=0.5), control=hold, interaction=hard).run()
    assert np.abs(sim.qvel).max() < 1e-2
    try:
        fast = np.abs(
            Simulation(rover(duration=0.5), control=hold, interaction=explicit).run().qvel
        )
        assert fast.max() > 1
    except Diverged:
        pass


def test_the_same_law_in_yard_and_engine():
    scenario = rover(duration=0.2, theta=0.5)
    engine = Simulation(scenario, control=hold, interaction=springs).run().dataset()
    yard = Yard(scenario, control=hold, interaction=springs).run().dataset()
    assert yard.base_position.values == pytest.approx(engine.position_base.values, abs=1e-10)


def test_belt_force_turns_the_sprocket():
    # drives held at a speed: the motor gives what the belt pulls, times the pitch radius
    pull = 30.0

    def ground(time, step, organs):
        track = np.array([k == "track" for k in organs.kind])
        assert organs.belt_speed[track] == pytest.approx(0.075 * 2.0 * (time > 0), abs=0.02)
        return ContactBodyWrenches(0 * organs.position, belt_force=-pull * track)

    scenario = validate(
        {
            "robot": {"name": "tracked_rover"},
            "gravity": 0,
            "run": {"duration": 1, "control_period": "10 ms", "record_period": "10 ms"},
        }
    )
    sim = Simulation(scenario, control=lambda *_: JointCommands(speed=2.0), interaction=ground)
    ds = sim.run().dataset()
    torque = ds.motor_torque.sel(joint=["LeftSprocket_y", "RightSprocket_y"]).values[-1]
    assert torque == pytest.approx([0.075 * pull] * 2, rel=1e-3)


# --- control


def joint_rig(**more):
    """The wheel rig in free space."""
    return validate(
        {
            "robot": {"name": "single_wheel_rig"},
            "ground": [],
            "gravity": 0,
            "run": {"duration": 1.5, "step": 1e-3, "record_period": 0.01},
            **more,
        }
    )


def swing(time, joints, base, wrenches):
    """A PD controller: the wheel is to turn by 0.8 rad."""
    j = joints.index("wheel_y")
    torque = np.zeros(len(joints.name))
    torque[j] = 4.0 * (0.8 - joints.angle[j]) - 0.3 * joints.rate[j]
    return JointCommands(torque)


def test_own_controller_drives_a_joint_as_theory_says():
    sim = Simulation(joint_rig(), control=swing)
    j = sim.model.joint("wheel_y")
    mujoco.mj_forward(sim.model, sim.data)
    unit, column = np.zeros(sim.model.nv), np.zeros(sim.model.nv)
    unit[j.dofadr[0]] = 1
    mujoco.mj_mulM(sim.model, sim.data, column, unit)
    inertia = column @ unit
    ds = sim.run().dataset()
    # I α̈ + d α̇ + k α = k α_s from rest
    decay, natural = 0.3 / (2 * inertia), 4.0 / inertia
    omega = np.sqrt(complex(natural - decay**2))
    t = ds.time.values
    exact = 1 - np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
    angle = ds.joint_angle.sel(joint="wheel_y").values
    # held over a step of 1 ms: half a step late
    assert angle == pytest.approx(0.8 * exact.real, abs=0.02)
    assert angle[-1] == pytest.approx(0.8, abs=1e-3)


def test_motors_bound_own_torques():
    motor = {"constant": 0.02, "resistance": 1.0, "gear": 10, "torque_max": 0.5}
    free = Simulation(joint_rig(), control=swing).run().dataset()
    ds = Simulation(joint_rig(motors={"wheel_y": motor}), control=swing).run().dataset()
    torque = ds.motor_torque.sel(joint="wheel_y").values
    assert np.abs(free.motor_torque.sel(joint="wheel_y").values).max() > 1
    assert np.abs(torque).max() == pytest.approx(0.5)


def test_controller_feels_the_ground():
    # mean wrenches over each control period, on hard ground, soil and a law of one's own
    for scenario, law in (
        (rover(duration=0.4, control_period=0.02), None),
        (rover(duration=0.4, control_period=0.02), springs),
    ):
        felt = []

        def control(time, joints, base, wrenches, felt=felt):
            felt.append(wrenches.force[:, 2].sum())
            return hold(time, joints, base, wrenches)

        sim = Simulation(scenario, control=control, interaction=law).run()
        weight = sim.dataset().attrs["weight"]
        assert felt[0] == 0
        assert felt[-1] == pytest.approx(weight, rel=0.05)
        assert len(felt) == 20
    scenario = wheel_rig(duration=1.2, control_period=0.02)
    felt = []

    def press(time, joints, base, wrenches):
        felt.append(wrenches.force[0, 2])
        return JointCommands([-50.0 * (n == "lift") * min(1, time) for n in joints.name])

    Simulation(scenario, control=press).run()
    assert felt[-1] == pytest.approx(50.0, rel=0.02)


# --- memory


class Counting:
    """A ground of springs that hardens, and counts."""

    def __init__(self):
        self.calls = np.zeros(1)

    def __call__(self, time, step, organs):
        self.calls += 1
        soft = springs(time, step, organs)
        return replace(soft, force=soft.force * (1 + 1e-3 * self.calls[0]))

    def state(self):
        return {"calls": self.calls.copy()}

    def restore(self, state):
        self.calls[:] = state["calls"]


def test_boxes_are_saved_and_resumed_with_the_simulation():
    sim = Simulation(rover(control_period=0.01), control=hold, interaction=Counting())
    sim.step(55)
    saved = sim.state()
    sim.step(145)
    once = sim.state()
    sim.restore(saved)
    sim.step(145)
    assert sim.state().hash() == once.hash()


@pytest.mark.parametrize("steps", [55, 60])
def test_boxes_resume_in_another_simulation(steps):
    # also where a record was just made, and the controller is asked next
    def feeling(time, joints, base, wrenches):
        command = hold(time, joints, base, wrenches)
        return replace(command, torque=1e-3 * wrenches.force[0, 2])

    def make():
        return Simulation(rover(control_period=0.01), control=feeling, interaction=Counting())

    sim = make()
    sim.step(steps)
    saved = sim.state()
    sim.step(100)
    other = make()
    other.restore(saved)
    other.step(100)
    assert other.state().hash() == sim.state().hash()


# --- what boxes do wrong


def wrong(at, value):
    """A controller that gives `value` from a time on."""

    def control(time, joints, base, wrenches):
        if time < at:
            return JointCommands()
        if isinstance(value, Exception):
            raise value
        return value

    return control


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (JointCommands([1.0, 2.0]), r"control at t = 0.05 s: torque: has the shape \(2,\); \(4,\)"),
        (JointCommands(np.nan), "control at t = 0.05 s: torque: has a value that is not a finite"),
        (JointCommands(speed=np.inf), "control at t = 0.05 s: speed: must be finite"),
        (JointCommands("x"), "control at t = 0.05 s: torque: must be numbers"),
        (None, "control at t = 0.05 s: gave a NoneType; JointCommands is required"),
        (KeyError("knee"), "control at t = 0.05 s: KeyError: 'knee'"),
    ],
)
def test_errors_of_a_controller_name_box_field_and_time(value, says):
    sim = Simulation(joint_rig(), control=wrong(0.05, value))
    with pytest.raises(Diverged, match=says):
        sim.run()
    assert sim.dataset().time.values[-1] == pytest.approx(0.05)
    assert sim.dataset().attrs["stopped"].startswith("stopped: control")
    with pytest.raises(InputError, match=says.replace("0.05", "0")):
        Simulation(joint_rig(), control=wrong(0.0, value)).run()
    yard = Yard(joint_rig(), control=wrong(0.05, value))
    if not (isinstance(value, JointCommands) and np.ndim(value.speed) == 0):
        with pytest.raises(Diverged, match=says):
            yard.run()
        assert yard.dataset().time.values[-1] == pytest.approx(0.05)


def test_errors_of_an_interaction_keep_what_was_recorded():
    def broken(time, step, organs):
        wrench = springs(time, step, organs)
        return wrench if time < 0.1 else replace(wrench, force=wrench.force * np.nan)

    out = marsyard.run(rover(duration=0.3), control=hold, interaction=broken)
    assert out.stopped.startswith("stopped: interaction at t = 0.1 s: force: has a value")
    assert out.data.time.values[-1] == pytest.approx(0.1)
    with pytest.raises(InputError, match="interaction at t = 0 s: ZeroDivisionError"):
        Simulation(rover(), interaction=lambda *_: 1 / 0).run()


def test_multibody_errors():
    class Lost(Plate):
        def organs(self):
            return ContactBodyStates(("plate",), [[0, 0, 0]], [[0, 0, 0]])

    scenario = load_scenario("soil/plate", {"study": None, "control": []})
    with pytest.raises(InputError, match="the soil supports 'Plate'.*did you mean 'plate'"):
        Yard(scenario, multibody=Lost(1.0)).step()


# --- post-processing


def test_post_processing_stands_in_the_report(tmp_path):
    def figure(data):
        from matplotlib.figure import Figure

        canvas = Figure()
        canvas.subplots().plot(data.time, data.slip_ratio)
        return canvas

    def broken(data):
        return data.no_such_thing

    def greedy(data):
        data["slip_ratio"][:] = 99.0
        return "done"

    out = marsyard.run(
        "rt0448/test-1",
        duration=0.2,
        out=tmp_path / "run",
        post={
            "greedy": greedy,
            "mean slip": lambda data: float(data.slip_ratio.mean()),
            "own figure": figure,
            "slip by wheel": lambda data: data.slip_ratio.mean("time"),
            "broken": broken,
        },
    )
    mean = float(out.data.slip_ratio.mean())
    assert out.post["mean slip"] == mean
    page = out.report.read_text(encoding="utf-8")
    assert "Results of custom functions" in page
    assert "<td>mean slip</td>" in page
    assert "Figure" in page and "own figure" in page
    assert (out.folder / "figures" / "post-own-figure.png").stat().st_size > 1000
    table = (out.folder / "post" / "slip-by-wheel.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "wheel,slip_ratio" and len(table) == 7
    assert any(text.startswith("post.broken: AttributeError") for text in out.warnings)


def test_wrong_use_is_said_before_the_run():
    with pytest.raises(InputError, match="post.slip: is a float; a function is needed"):
        marsyard.run("rt0448/test-1", post={"slip": 0.3})
    with pytest.raises(InputError, match="custom modules need a single run"):
        marsyard.run("soil/wheel", control=hold)
    smooth = rover().model_copy(
        update={"run": rover().run.model_copy(update={"integrator": "semi_implicit"})}
    )
    with pytest.raises(InputError, match=r"run.integrator: 'semi_implicit' does not support"):
        Simulation(smooth, interaction=springs)


def test_angular_damping_alone_is_implicit(tmp_path):
    # a moment −c ω with c h far above the inertia: ω is gone after a step, not blown up
    (tmp_path / "box.xml").write_text(
        '<mujoco><worldbody><body name="b" pos="0 0 1"><freejoint/>'
        '<geom name="g" type="box" size=".1 .1 .1" mass="1"/></body></worldbody></mujoco>'
    )

    def law(time, step, organs):
        n = len(organs.name)
        damping = np.zeros((n, 7, 7))
        damping[:, 3:6, 3:6] = 1000.0 * np.eye(3)
        return ContactBodyWrenches(
            np.zeros((n, 3)), -1000.0 * organs.angular_velocity, damping=damping
        )

    sim = Simulation(
        validate(
            {
                "robot": {"name": str(tmp_path / "box.xml"), "angular_velocity": [0, 1, 0]},
                "gravity": 0.0,
                "run": {"duration": 0.1, "step": 1e-3},
            }
        ),
        interaction=law,
    )
    sim.step(3)
    assert np.abs(sim.qvel[3:6]).max() < 1e-5
