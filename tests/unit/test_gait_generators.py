"""Walking, peristaltic and rolling plans, transitions and switching, without an engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marsyard.control.gait_planner import standing
from marsyard.control.gait_transition import Pace, Stand, transition
from marsyard.control.limb_kinematics import Limbs
from marsyard.control.locomotion import Locomotion, Mode, Sensed, Until
from marsyard.control.peristaltic import Peristaltic, PeristalticGait
from marsyard.control.rolling import Rolling, RollingGait, braking
from marsyard.control.stability_margin import longitudinal_margin
from marsyard.control.walking import (
    Walking,
    WalkingGait,
    duty_of,
    level_against,
    wave_margin,
    wave_phases,
)
from marsyard.errors import InputError

LEVEL = np.array([0.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def hexapod():
    return Limbs("hexapod")


@pytest.fixture(scope="module")
def hylos():
    return Limbs("hylos_like")


def _longitudinal(walk: Walking) -> float:
    plan = walk._plan(np.eye(3))
    least = np.inf
    for k, carrying in enumerate(plan.support[:-1]):
        for places in (plan.places[k], plan.places[k + 1]):
            least = min(least, longitudinal_margin(places[carrying], np.zeros(3)))
    return least


@pytest.mark.parametrize("duty", [0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9])
def test_margin_of_six_legged_wave_gaits_is_song_and_waldrons(hexapod, duty):
    gait = WalkingGait(pattern="wave", duty=duty, stride=0.12, period=4.0)
    walk = Walking(hexapod, gait, 0.02)
    assert walk.duty == pytest.approx(duty)
    assert _longitudinal(walk) == pytest.approx(wave_margin(3, duty, 0.12, 0.18), abs=1e-8)


@pytest.mark.parametrize("duty", [0.75, 0.8, 0.85, 0.9, 0.95])
def test_margin_of_four_legged_crawl_is_mcghee_and_franks(hylos, duty):
    """S = (β − ¾) λ."""
    gait = WalkingGait(pattern="crawl", duty=duty, stride=0.1, period=8.0)
    assert _longitudinal(Walking(hylos, gait, 0.02)) == pytest.approx((duty - 0.75) * 0.1, abs=1e-8)


def test_waves_run_from_rear_to_front_with_sides_half_a_cycle_apart():
    phases = wave_phases(3, 5 / 6)
    assert np.mod(phases[:, 1] - phases[:, 0], 1) == pytest.approx([0.5] * 3)
    # each is placed when its swing of 1/6 ends, after the one behind it
    ahead = np.mod(phases[:-1, 0] - phases[1:, 0], 1)
    assert ahead == pytest.approx([1 / 6] * 2)


@pytest.mark.parametrize(("pattern", "at_once"), [("tripod", 3), ("ripple", 2), ("wave", 1)])
def test_so_many_feet_are_in_the_air(hexapod, pattern, at_once):
    plan = Walking(hexapod, WalkingGait(pattern=pattern, period=6.0), 0.02)._plan(np.eye(3))
    lifted = len(hexapod.organs) - plan.support.sum(axis=1)
    assert lifted.max() == at_once
    # all are lifted once per cycle, and for the same time
    assert len(set((~plan.support[:-1]).sum(axis=0))) == 1


@pytest.mark.parametrize(
    "gait",
    [
        WalkingGait("tripod", stride=0.1, period=2.0),
        WalkingGait("ripple", stride=-0.1, period=3.0),
        WalkingGait("wave", stride=0.06, heading=1.0, period=4.0),
        WalkingGait("tripod", stride=0.0, turn=0.3, period=2.0),
        WalkingGait("tripod", stride=0.08, turn=0.2, heading=-0.4, period=2.0, sway=0.02),
    ],
)
def test_carrying_feet_rest_in_the_world(hexapod, gait):
    """Integrate the base's velocity independently, in small steps, and look where feet are."""
    walk = Walking(hexapod, gait, 0.02)
    done = walk.cycle(standing(hexapod))
    step, speed, rate = 0.02, gait.stride / gait.period, gait.turn / gait.period
    heading, place = 0.0, np.zeros(2)
    before = None
    for k, row in enumerate(done.schedule.angles):
        points = hexapod.points(row)[:, :2]
        # sway: the base itself is displaced
        points = points + walk._body(k * step)[:2]
        c, s = np.cos(heading), np.sin(heading)
        now = place + points @ np.array([[c, s], [-s, c]])
        if before is not None:
            held = done.support[k - 1]
            assert now[held] == pytest.approx(before[held], abs=1e-6)
        before = now
        for _ in range(20):
            mid = heading + rate * step / 40
            way = speed * step / 20
            place = place + way * np.array([np.cos(mid + gait.heading), np.sin(mid + gait.heading)])
            heading += rate * step / 20
    x, y, turn = done.advance
    assert heading - rate * step == pytest.approx(turn, abs=1e-9)
    if gait.turn == 0:
        assert np.hypot(x, y) == pytest.approx(abs(gait.stride))


def test_feet_lift_and_land_without_speed(hexapod):
    gait = WalkingGait("tripod", stride=0.12, period=2.0, step_height=0.04)
    walk = Walking(hexapod, gait, 0.001)
    plan = walk._plan(np.eye(3))
    leg = 0
    world = plan.places[:, leg] + np.outer(np.arange(2001) * 0.001 * 0.06, [1, 0, 0])
    speed = np.linalg.norm(np.diff(world, axis=0), axis=1) / 0.001
    swing = np.flatnonzero(~plan.support[:-1, leg])
    assert speed[swing[0]] < 1e-3 and speed[swing[-1]] < 1e-3
    assert speed[plan.support[:-1, leg]].max() < 1e-9
    assert world[:, 2].max() - hexapod.home[leg, 2] == pytest.approx(0.04, rel=1e-5)


def test_cycles_close(hexapod):
    done = Walking(hexapod, WalkingGait("wave", stride=0.1), 0.02).cycle(standing(hexapod))
    assert done.schedule.angles[-1] == pytest.approx(done.schedule.angles[0], abs=1e-9)
    assert done.duration == pytest.approx(4.0)


def test_sway_helps_a_crawl_sideways(hexapod):
    """Away from feet in the air: with them on the left the base is to the right."""
    walk = Walking(hexapod, WalkingGait("wave", sway=0.03), 0.02)
    plan = walk._plan(np.eye(3))
    left = hexapod.home[:, 1] > 0
    only_left = (~plan.support[:, left]).any(axis=1) & plan.support[:, ~left].all(axis=1)
    assert plan.body[only_left, 1].mean() < -0.015
    assert plan.body[:, 1].min() == pytest.approx(-0.03, abs=1e-4)


def test_a_level_base_on_a_slope(hexapod):
    slope = 0.2
    down = np.array([-np.sin(slope), 0, -np.cos(slope)])
    lean = level_against(down)
    # gravity is straight down in the base's frame
    assert lean.T @ down == pytest.approx(LEVEL, abs=1e-12)
    walk = Walking(hexapod, WalkingGait("tripod", stride=0.08, level=True), 0.02)
    pose = replace(standing(hexapod), lean=lean, down=down)
    done = walk.cycle(pose)
    parallel = walk.cycle(replace(pose, lean=np.eye(3)))
    points = hexapod.points(done.schedule.angles[0])
    front, rear = points[:2, 2].mean(), points[4:, 2].mean()
    run = points[:2, 0].mean() - points[4:, 0].mean()
    assert (front - rear) / run == pytest.approx(np.tan(slope), rel=0.05)
    # less of the centre's height counts
    assert done.margin.min() > parallel.margin.min()


def test_unstable_gaits_are_refused_with_what_is_missing(hexapod, hylos):
    walk = Walking(hexapod, WalkingGait("tripod", stride=0.12, least_margin=0.07), 0.02)
    with pytest.raises(InputError, match=r"fall to 57.5 mm after .* 12.5 mm below"):
        walk.cycle(standing(hexapod))
    steep = replace(standing(hexapod), down=np.array([-0.5, 0, -0.866]))
    with pytest.raises(InputError, match="stability margin would fall to -"):
        Walking(hexapod, WalkingGait("tripod"), 0.02).cycle(steep)
    with pytest.raises(InputError, match=r"duty = 0.6: .* 4 legs .* 0.75"):
        Walking(hylos, WalkingGait("wave", duty=0.6), 0.02)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (dict(stride=0.6), r"after .* s '\w\w' of hexapod cannot reach .* misses by"),
        (dict(step_height=0.4), "cannot reach"),
        (dict(pattern="crawl"), "'crawl' is for 4 legs, not 6; use tripod or ripple or wave"),
        (dict(pattern="trot"), "'trot' is not known; did you mean 'tripod'"),
        (dict(period=0.1), "less than three samples"),
    ],
)
def test_gaits_that_cannot_be_say_so_in_a_sentence(hexapod, change, said):
    with pytest.raises(InputError, match=said) as error:
        Walking(hexapod, WalkingGait(**change), 0.02).cycle(standing(hexapod))
    assert "\n" not in str(error.value)


def test_duties():
    assert duty_of("wave", 6) == pytest.approx(5 / 6)
    assert duty_of("wave", 8) == pytest.approx(7 / 8)
    with pytest.raises(InputError, match="even number of legs"):
        duty_of("wave", 5)


# --- peristaltic


def test_axles_of_a_marsokhod_move_one_at_a_time():
    limbs = Limbs("marsokhod_like")
    gait = PeristalticGait(stride=0.15, period=9.0)
    walk = Peristaltic(limbs, gait, 0.02)
    assert [list(g) for g in walk.groups] == [[0, 1], [2, 3], [4, 5]]
    assert list(walk.fast) == [False, False, True, True, False, False]
    done = walk.cycle(standing(limbs))
    table = dict(zip(done.schedule.joints, done.schedule.angles.T, strict=True))
    third = len(done.schedule.angles) // 3
    # pushed out, drawn together by the middle axle, rear axle drawn near
    assert table["Front_x"][[0, third, 2 * third, -1]] == pytest.approx([0, 0.15, 0, 0], abs=1e-9)
    assert table["Rear_x"][[0, third, 2 * third, -1]] == pytest.approx([0, 0, -0.15, 0], abs=1e-9)
    for names, phase in (("FLWheel_y FRWheel_y", 0), ("CLWheel_y CRWheel_y", 1), ("RLWheel_y", 2)):
        for name in names.split():
            turned = np.diff(table[name][[0, third, 2 * third, -1]])
            expected = np.zeros(3)
            expected[phase] = 0.15 / 0.175
            assert turned == pytest.approx(expected, abs=1e-9), name
    assert done.advance == (0.15, 0.0, 0.0)


@pytest.mark.parametrize("move", ["axle", "wheel"])
def test_wheels_on_legs_turn_over_the_ground_not_against_their_links(hylos, move):
    gait = PeristalticGait(stride=0.1, period=8.0, move=move)
    done = Peristaltic(hylos, gait, 0.02).cycle(standing(hylos))
    legs = len(hylos.joints)
    rows = done.schedule.angles[:: len(done.schedule.angles) // 50]
    over_ground = np.array([row[-4:] + hylos.link_pitch(row[:legs]) for row in rows])
    # centres move by r times what a wheel turns; the base by the mean of all
    places = np.array([hylos.points(row[:legs])[:, 0] for row in rows])
    way = 0.07 * (over_ground - over_ground[0])
    base = way.mean(axis=1)
    assert places + base[:, None] == pytest.approx(hylos.home[:, 0] + way, abs=1e-9)
    moving = (np.abs(np.diff(way, axis=0)) > 1e-9).sum(axis=1)
    assert moving.max() <= (2 if move == "axle" else 1) * 2  # a phase may end within a step
    assert way[-1] == pytest.approx([way[-1, 0]] * 4, abs=1e-3)


def test_peristaltic_errors(hexapod):
    with pytest.raises(InputError, match="hexapod stands on feet; it needs wheels"):
        Peristaltic(hexapod, PeristalticGait(), 0.02)
    with pytest.raises(InputError, match="vehicle_2001 cannot be moved against its frame"):
        Peristaltic(Limbs("vehicle_2001"), PeristalticGait(), 0.02)
    limbs = Limbs("marsokhod_like")
    with pytest.raises(InputError, match="'FL' of marsokhod_like cannot reach"):
        Peristaltic(limbs, PeristalticGait(stride=0.4), 0.02).cycle(standing(limbs))


# --- rolling


def test_rolling_rates_and_ramps():
    limbs = Limbs("vehicle_2001")
    roll = Rolling(limbs, RollingGait(speed=0.1, acceleration=0.1, period=4.0), 0.02)
    first = roll.cycle(standing(limbs))
    # 1 s to get to speed: ½ a t² + v (T − 1)
    assert first.advance[0] == pytest.approx(0.05 + 0.3)
    assert 0.1 * first.schedule.angles[-1] == pytest.approx([0.35] * 4)
    assert first.end.rates == pytest.approx([1.0] * 4)
    second = roll.cycle(first.end)
    assert second.advance[0] == pytest.approx(0.4)
    assert second.schedule.angles[0] == pytest.approx(first.schedule.angles[-1])
    stop = braking(limbs, second.end, 0.1, 0.02)
    assert 0.1 * (stop.schedule.angles[-1] - stop.schedule.angles[0]) == pytest.approx([0.05] * 4)
    assert stop.end.rates == pytest.approx([0.0] * 4)


def test_rolling_turns_by_steering(hylos):
    roll = Rolling(hylos, RollingGait(speed=0.05, turn_rate=0.05), 0.02)
    # left wheels nearer to the centre of the turn, 1 m to the left
    assert roll.rates[0] * 0.07 == pytest.approx(0.05 * np.hypot(0.23, 0.8), rel=1e-6)
    assert roll.steering[0] == pytest.approx(np.arctan2(0.23, 0.8), rel=1e-6)
    with pytest.raises(InputError, match="hexapod has no wheels"):
        Rolling(Limbs("hexapod"), RollingGait(), 0.02)


# --- transitions and switching


def test_feet_go_to_their_places_one_at_a_time(hexapod):
    walk = Walking(hexapod, WalkingGait("ripple", stride=0.12), 0.02)
    places, body = walk.begin(np.eye(3))
    way = transition(
        hexapod, standing(hexapod), Stand(places, body, np.eye(3), np.zeros(0)), 0.02, 0.02
    )
    assert way is not None
    assert (~way.support).sum(axis=1).max() == 1
    assert way.margin.min() > 0.02
    assert hexapod.points(way.schedule.angles[-1]) == pytest.approx(places, abs=1e-9)
    first = walk.cycle(way.end)
    assert first.schedule.angles[0] == pytest.approx(way.schedule.angles[-1], abs=1e-6)
    # nothing left to do
    assert transition(hexapod, way.end, Stand(places, body, np.eye(3), np.zeros(0)), 0.02) is None


def test_a_base_makes_room_before_a_foot_is_lifted(hexapod):
    """With the legs' own places a lifted corner of four leaves the centre of mass on an edge."""
    pose = standing(hexapod)
    places = hexapod.home.copy()
    places[0] += [0.02, 0, 0]
    steep = replace(pose, down=np.array([-0.45, 0.0, -0.893]))
    stand = Stand(places, np.zeros(3), np.eye(3), np.zeros(0))
    way = transition(hexapod, steep, stand, 0.02, 0.04, Pace())
    assert way is not None
    body = np.array([hexapod.on_ground(hexapod.points(q), np.zeros(3), np.eye(3))[5] for q in
                     way.schedule.angles])  # fmt: skip
    # the base has gone uphill and come back: the last foot moved against it and is home again
    assert way.margin[way.support.sum(axis=1) < 6].min() >= 0.04
    assert body[-1] == pytest.approx(hexapod.home[5], abs=1e-6)


def _walker(limbs, modes, **more):
    return Locomotion(limbs, modes, 0.02, **more)


def _sensed(time=0.0, x=0.0, y=0.0, heading=0.0, pitch=0.0, z=0.0):
    """A base at a place, turned to the left, then nose up."""
    c, s = np.cos(heading), np.sin(heading)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    c, s = np.cos(pitch), np.sin(pitch)
    nose_up = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    return Sensed(time, np.array([x, y, z]), turn @ nose_up)


def test_modes_follow_each_other():
    limbs = Limbs("hylos_like")
    modes = [
        Mode(Rolling(limbs, RollingGait(speed=0.05, period=2.0), 0.02), Until(distance=0.15)),
        Mode(Peristaltic(limbs, PeristalticGait(stride=0.1, period=4.0), 0.02), Until(cycles=2)),
    ]
    mind = _walker(limbs, modes)
    pose, time, x, seen = standing(limbs), 0.0, 0.0, []
    while True:
        done = mind.next(_sensed(time, x), pose)
        if done is None:
            break
        seen.append((mind.mode, mind.state))
        assert done.schedule.angles[0] == pytest.approx(
            np.concatenate([pose.angles, pose.steering, pose.wheels]), abs=1e-6
        )
        pose, time, x = done.end, time + done.duration, x + done.advance[0]
    # 0.0875 m, then 0.1 m a cycle
    assert seen == [(0, "cycle"), (0, "cycle"), (1, "transition"), (1, "cycle"), (1, "cycle")]
    assert mind.finished
    assert mind.last.slip == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("until", "way", "pitch", "leaves"),
    [
        (Until(slip=0.5), 0.03, 0.0, True),
        (Until(slip=0.5), 0.06, 0.0, False),
        (Until(slip=0.5), 0.06, 0.3, False),
        (Until(progress=0.05), 0.04, 0.0, True),
        (Until(progress=0.05), 0.06, 0.0, False),
        (Until(slope=0.2), 0.1, 0.25, True),
        (Until(slope=0.2), 0.1, -0.15, False),
        (Until(time=4.5), 0.1, 0.0, False),
        (Until(time=3.9), 0.1, 0.0, True),
        (Until(), 0.0, 0.0, False),
    ],
)
def test_what_is_sensed_decides(until, way, pitch, leaves):
    limbs = Limbs("hylos_like")
    gait = Peristaltic(limbs, PeristalticGait(stride=0.1, period=4.0), 0.02)
    other = Peristaltic(limbs, PeristalticGait(stride=0.05, period=4.0), 0.02)
    mind = _walker(limbs, [Mode(gait, until), Mode(other)])
    done = mind.next(_sensed(0.0, 1.0, 2.0, 0.3, pitch), standing(limbs))
    # up the slope, and a little to the side, which does not count
    x = 1 + way * np.cos(pitch) * np.cos(0.3) - 0.01 * np.sin(0.3)
    y = 2 + way * np.cos(pitch) * np.sin(0.3) + 0.01 * np.cos(0.3)
    mind.next(_sensed(4.0, x, y, 0.3, pitch, way * np.sin(pitch)), done.end)
    assert mind.last.distance == pytest.approx(way, abs=1e-12)
    assert mind.last.slip == pytest.approx(1 - way / 0.1)
    assert mind.mode == (1 if leaves else 0)


def test_turns_on_the_spot_count_by_their_angle(hexapod):
    gait = WalkingGait("tripod", stride=0.0, turn=-0.3, period=2.0)
    mind = _walker(hexapod, [Mode(Walking(hexapod, gait, 0.02))])
    pose = mind.next(_sensed(), standing(hexapod)).end
    pose = mind.next(_sensed(heading=0.1), pose).end
    mind.next(_sensed(heading=-0.14), pose)
    assert mind.last.distance == pytest.approx(0.24)
    assert mind.last.slip == pytest.approx(0.2)


def test_memory_brings_back_the_same_decisions(hexapod):
    modes = [Mode(Walking(hexapod, WalkingGait("tripod", period=2.0), 0.02), Until(cycles=3))]
    first = _walker(hexapod, modes, repeat=True)
    pose = first.next(_sensed(), standing(hexapod)).end
    memory = first.memory()
    done = first.next(_sensed(4.8), pose)
    other = _walker(hexapod, modes, repeat=True)
    other.recall(memory)
    again = other.next(_sensed(4.8), pose)
    assert np.array_equal(done.schedule.angles, again.schedule.angles)
    assert np.array_equal(first.memory(), other.memory())
