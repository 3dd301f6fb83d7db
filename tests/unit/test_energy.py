"""The account of energy: closed forms of motors, distances and causes; what it shows and writes."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
import xarray as xr
from synthetic import MASS, dataset, soil_dataset

from marsyard.control.motor import Motor
from marsyard.errors import InputError
from marsyard.results import energy_account
from marsyard.results.energy import CAUSES, causes_of
from marsyard.results.energy_figures import (
    ROLE_COLOURS,
    account_of,
    cause_rows,
    draw_energy,
    draw_motors,
    energy_section,
    role_colours,
    save_energy_figures,
    write_energy_csv,
)

SLOPE, SPEED, GRAVITY, RADIUS = math.radians(12), 0.1, 3.72, 0.2
TORQUE = 50.0 * GRAVITY * math.sin(SLOPE) * RADIUS


def climb(motor: Motor | None = None, torque=TORQUE, direction=1.0, damping=0.0) -> xr.Dataset:
    """A cart of 50 kg on one driven wheel goes up (or down) a slope at a constant speed."""
    t = np.linspace(0.0, 10.0, 201)
    n = len(t)
    way = direction * SPEED * t
    up = np.array([math.cos(SLOPE), 0.0, math.sin(SLOPE)])
    position = way[:, None] * up
    rate = np.full((n, 1), direction * SPEED / RADIUS)
    torques = np.full((n, 1), torque)
    pitch = [math.cos(SLOPE / 2), 0.0, -math.sin(SLOPE / 2), 0.0]
    ds = xr.Dataset(
        {
            "position_base": (("time", "axis"), position),
            "position_com": (("time", "axis"), position + [0, 0, 0.3]),
            "quaternion_base": (("time", "quat"), np.tile(pitch, (n, 1))),
            "motor_torque": (("time", "joint"), torques),
            "joint_rate": (("time", "joint"), rate),
            "velocities": (("time", "dof"), rate),
            "energy_kinetic": ("time", np.full(n, 0.25)),
            "energy_potential": ("time", 50.0 * GRAVITY * position[:, 2]),
            "energy_motors": ("time", torque * rate[0, 0] * t),
            "dof_damping": ("dof", [damping]),
            "joint_role": ("joint", np.array(["drives"], dtype=object)),
        },
        coords={
            "time": t, "axis": list("xyz"), "quat": list("wxyz"), "joint": ["wheel"],
            "dof": ["wheel"],
        },
        attrs={"weight": 50.0 * GRAVITY, "mass": 50.0},
    )  # fmt: skip
    if motor is not None:
        state = motor.drive(torques, rate)
        ds = ds.assign_coords(motor=["wheel"])
        ds["motor_current"] = (("time", "motor"), state.current)
        ds["motor_voltage"] = (("time", "motor"), state.voltage)
        ds["electrical_power"] = (("time", "motor"), state.power)
        ds["motor_resistance"] = ("motor", [motor.resistance])
        ds["motor_emf"] = ("motor", [motor.constant * motor.gear])
        ds["motor_regeneration"] = ("motor", [float(motor.regeneration)])
    return ds


MOTOR = Motor(constant=0.02, resistance=1.5, gear=400.0, efficiency=0.7)


def test_a_climb_without_losses_costs_the_sine_of_the_slope():
    a = energy_account(climb())
    assert a.path_length == pytest.approx(1.0) and a.net_displacement == pytest.approx(1.0)
    assert a.elevation_gain == pytest.approx(math.sin(SLOPE))
    assert a.basis == "mechanical"
    assert a.specific_resistance == pytest.approx(math.sin(SLOPE), rel=1e-12)
    assert a.cost_of_transport == pytest.approx(math.sin(SLOPE), rel=1e-12)
    assert a.causes["lifting"] == pytest.approx(50 * GRAVITY * math.sin(SLOPE), rel=1e-12)
    assert abs(a.closure) < 1e-12 and abs(a.sampling) < 1e-12
    assert a.total.mean_power == pytest.approx(TORQUE * SPEED / RADIUS)


def test_electrical_energy_closes_with_the_closed_forms():
    a = energy_account(climb(MOTOR))
    current = TORQUE / (400 * 0.02 * 0.7)
    rate = SPEED / RADIUS
    motor = a.motors[0]
    assert motor.copper == pytest.approx(10 * 1.5 * current**2, rel=1e-12)
    assert motor.gear == pytest.approx(10 * TORQUE * rate * (1 / 0.7 - 1), rel=1e-12)
    assert motor.electrical == pytest.approx(motor.net + motor.copper + motor.gear, rel=1e-12)
    assert motor.burnt == 0.0 and abs(motor.closure) < 1e-12
    assert a.basis == "electrical"
    assert a.cost_of_transport == pytest.approx(motor.electrical / (50 * GRAVITY), rel=1e-12)


@pytest.mark.parametrize("regeneration", [False, True])
def test_a_braked_descent(regeneration):
    # so fast a wheel that the load drives current into the battery
    strong = Motor(constant=0.02, resistance=0.05, gear=400.0, efficiency=0.9)
    a = energy_account(climb(strong, direction=-1.0), regeneration=regeneration)
    motor = a.motors[0]
    given = TORQUE * SPEED / RADIUS * 10
    current = TORQUE * 0.9 / (400 * 0.02)
    copper = 10 * 0.05 * current**2
    assert motor.spent == 0.0 and motor.returned == pytest.approx(given)
    assert motor.gear == pytest.approx(given * (1 - 0.9), rel=1e-12)
    back = given * 0.9 - copper
    assert back > 0
    assert motor.electrical == pytest.approx(-back if regeneration else 0.0, abs=1e-9)
    assert motor.burnt == pytest.approx(0.0 if regeneration else back, abs=1e-9)
    assert abs(motor.closure) < 1e-9
    # the slope's energy is what the brake takes
    assert a.causes["lifting"] == pytest.approx(-given, rel=1e-12) and abs(a.closure) < 1e-12
    # downhill is backwards here: no distance is made good, so no cost by it
    assert a.net_displacement == pytest.approx(-1.0) and math.isinf(a.cost_of_transport)


def test_without_a_model_returned_work_is_lost_unless_it_is_said():
    down = climb(direction=-1.0)
    given = TORQUE * SPEED / RADIUS * 10
    assert energy_account(down).mechanical == 0.0
    assert energy_account(down, regeneration=True).mechanical == pytest.approx(-given)


def test_damping_is_found_from_the_rates():
    ds = climb(torque=TORQUE + 0.8 * SPEED / RADIUS, damping=0.8)
    a = energy_account(ds)
    assert a.causes["damping"] == pytest.approx(10 * 0.8 * (SPEED / RADIUS) ** 2, rel=1e-12)
    assert abs(a.closure) < 1e-12


def test_compliant_ground_takes_what_is_recorded_of_it():
    ds = climb(torque=TORQUE + 1.0)
    ds["energy_ground"] = ("time", 1.0 * SPEED / RADIUS * ds["time"].values)
    a = energy_account(ds)
    assert a.causes["ground"] == pytest.approx(10 * SPEED / RADIUS) and abs(a.closure) < 1e-12


def test_spent_and_returned_of_an_oscillation():
    ds = climb()
    t = ds["time"].values
    ds["joint_rate"] = (("time", "joint"), np.sin(2 * np.pi * t / 10)[:, None])
    ds["motor_torque"] = (("time", "joint"), np.full((len(t), 1), 2.0))
    a = energy_account(ds)
    # ∫ over half a period of 2 sin = 2 · 10/π
    assert a.total.spent == pytest.approx(20 / np.pi, rel=1e-3)
    assert a.total.returned == pytest.approx(20 / np.pi, rel=1e-3)
    assert a.total.net == pytest.approx(0.0, abs=1e-9)
    assert a.total.peak_power == pytest.approx(2.0, rel=1e-3)


def test_a_span_and_a_direction():
    ds = climb()
    half = energy_account(ds, start=2.0, end=7.0)
    assert half.duration == pytest.approx(5.0) and half.path_length == pytest.approx(0.5)
    assert half.total.spent == pytest.approx(TORQUE * SPEED / RADIUS * 5)
    level = energy_account(ds, along=(1, 0))
    assert level.net_displacement == pytest.approx(math.cos(SLOPE))
    assert energy_account(ds, along=(0, 2)).net_displacement == pytest.approx(0.0)
    for wrong in ((0, 0), (1,), (math.nan, 1)):
        with pytest.raises(InputError, match="along"):
            energy_account(ds, along=wrong)
    with pytest.raises(InputError, match="fewer than two records"):
        energy_account(ds, start=11.0)


def test_causes_on_soil_add_up():
    ds = soil_dataset()
    ds = ds.drop_vars(["impulse_normal", "contacts"])
    terms = causes_of(ds)
    assert set(terms) == {"motors", *CAUSES}
    t = ds["time"].values
    assert terms["compaction"] == pytest.approx(2.0 * t) and terms["shear"] == pytest.approx(t)
    assert terms["soil_rest"] == pytest.approx(0.0 * t, abs=1e-9)
    assert np.abs(terms["rest"]).max() < 1e-9
    lifted = MASS * 3.7 * (ds["position_com"].values[:, 2] - ds["position_com"].values[0, 2])
    assert terms["lifting"] == pytest.approx(lifted)
    assert energy_account(ds).soil_only and not energy_account(soil_dataset()).soil_only


def test_a_foot_on_a_stone_is_not_soil_alone():
    # only wheels have impulses; contacts of feet, tracks and bodies are counted
    ds = soil_dataset().drop_vars(["impulse_normal"])
    ds["contacts"] = ("time", np.zeros(ds.sizes["time"]))
    assert energy_account(ds).soil_only
    ds["contacts"][3] = 1.0
    assert not energy_account(ds).soil_only


def test_motors_of_which_one_has_no_model_give_no_electrical_total():
    ds = climb(MOTOR)
    two = ds.drop_vars(["motor_torque", "joint_rate", "joint_role"]).drop_dims("joint")
    two = two.assign_coords(joint=["wheel", "leg"])
    two["motor_torque"] = (("time", "joint"), np.full((201, 2), TORQUE))
    two["joint_rate"] = (("time", "joint"), np.full((201, 2), SPEED / RADIUS))
    two["joint_role"] = ("joint", np.array(["drives", "legs"], dtype=object))
    a = energy_account(two)
    assert [g.name for g in a.groups] == ["drives", "legs"]
    assert a.groups[0].has_model and not a.groups[1].has_model
    assert math.isnan(a.electrical) and a.basis == "mechanical"
    assert a.total.spent == pytest.approx(sum(m.spent for m in a.motors))
    # one that does next to nothing is no reason not to know
    two["motor_torque"] = two["motor_torque"] * xr.DataArray([1.0, 0.005], dims="joint")
    little = energy_account(two)
    assert little.basis == "electrical" and little.electrical == a.groups[0].electrical


def test_what_is_shown_and_written(tmp_path):
    ds = climb(MOTOR)
    a = account_of(ds)
    assert a is not None
    for canvas in (draw_energy(ds, a), draw_motors(a)):
        assert canvas.axes[0].get_legend_handles_labels()[1]
    files = save_energy_figures(ds, a, tmp_path, first=3, dpi=40)
    names = [f.path.name for f in files]
    assert names == ["03-power-and-energy.png", "04-energy-by-motor.png"]
    page = energy_section(ds)
    assert "cost of transport, electrical" in page and "lifting" in page and "wheel" in page
    rows = list(csv.DictReader(write_energy_csv(a, tmp_path / "energy.csv").open()))
    assert [r["what"] for r in rows] == ["wheel", "all"]
    assert float(rows[0]["copper_J"]) == a.motors[0].copper
    text = json.dumps(a.as_dict(), allow_nan=False)
    assert json.loads(text)["causes"]["lifting"] == a.causes["lifting"]


def test_runs_that_do_not_drive_have_no_account():
    still = dataset()
    still["motor_torque"] = 0.0 * still["motor_torque"]
    assert account_of(still) is None and energy_section(still) == ""
    assert account_of(still.drop_vars("motor_torque")) is None
    assert energy_section(dataset()) != ""


def test_no_shares_of_next_to_nothing():
    """Motors that take back what they spend leave no work to be shared out."""
    assert sum(share for _, _, share in cause_rows(energy_account(climb()))) == pytest.approx(1)
    ds = climb()
    t, rate = ds["time"].values, float(ds["joint_rate"][0, 0])
    # ten whole swings, and a hundredth of them for good
    torque = TORQUE * (np.sin(2 * np.pi * t) + 0.01)
    work = TORQUE * rate * ((1 - np.cos(2 * np.pi * t)) / (2 * np.pi) + 0.01 * t)
    ds = ds.assign(motor_torque=(("time", "joint"), torque[:, None]), energy_motors=("time", work))
    account = energy_account(ds)
    assert account.total.spent > 30 * abs(account.work) > 0
    assert all(math.isnan(share) for _, _, share in cause_rows(account))


def test_roles_of_a_robots_own_are_told_apart():
    colours = role_colours(["drives", "wheels", "boom", "crown"])
    assert colours["drives"] == ROLE_COLOURS["drives"]
    assert len(set(colours.values())) == 4
