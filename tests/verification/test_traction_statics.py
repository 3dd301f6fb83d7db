"""The traction map against closed forms, MuJoCo's kinematics, and two other solvers.

Planes have closed forms; on rough ground stands are compared with `marsyard.control.placement`,
which computes the same by MuJoCo and non-negative least squares, pulls with the interior-point
solver Clarabel, margins with `marsyard.control.stability_margin`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.analysis.traction_map import maps, path_profile, traction_map
from marsyard.analysis.traction_map.placing import HeightGrid, placing_work
from marsyard.analysis.traction_map.poses import COLUMNS, Asked, judge, judge_poses, typical_length
from marsyard.analysis.traction_map.poses import judge as many
from marsyard.analysis.traction_map.quadratic import program_work, quadratic_program
from marsyard.analysis.traction_map.rover_tables import rover_tables
from marsyard.analysis.traction_map.traction import PULL, assemble, traction_work
from marsyard.control import Placer, stability_margin
from marsyard.ground.terrain import build_terrain
from marsyard.robot import Robot, load_robot
from marsyard.scenario import load_terrain, validate, validate_terrain
from marsyard.simulation import Simulation

MU, G = 0.6, 3.71
ROVERS = ["exomars", "exomars_rt0448", "curiosity_like", "sojourner", "rashid_like",
          "vehicle_2001", "marsokhod_like"]  # fmt: skip


def _terrain(*layers):
    return build_terrain(validate_terrain({"title": "t", "layers": list(layers)}, "t"))


def _plane(slope: float):
    return _terrain({"kind": "plane", "slope": slope})


def _pose(robot, ground, heading=0.0, **more):
    """The numbers of one pose at the origin."""
    found = path_profile(robot, ground, np.array([[0.0, 0.0, heading]]), gravity=G, **more)
    return found.isel(distance=0), found.attrs["weight"]


# --- planes


@pytest.mark.parametrize("rover", ROVERS)
def test_on_level_ground_all_friction_pulls(rover):
    """F = μ m g, whatever the heading; no friction is needed to stand."""
    for heading in (0.0, 1.0, 4.0):
        at, weight = _pose(rover, _plane(0.0), heading, friction=MU)
        assert at.traction == pytest.approx(MU * weight, rel=1e-6)
        assert at.friction_demand < 2e-3 and at.tilt < 1e-7 and at.verdict == 0
        assert at.wheel_load.sum() == pytest.approx(weight, rel=1e-6)


@pytest.mark.parametrize("rover", ["exomars", "sojourner", "rashid_like"])
@pytest.mark.parametrize("degrees", [5, 15, 25])
def test_on_a_slope(rover, degrees):
    """Uphill F = m g (μ cos θ − sin θ), downhill with +, demand tan θ; across Coulomb's bound."""
    slope = np.radians(degrees)
    ground = _plane(slope)
    for heading, sign in ((0.0, -1), (np.pi, 1)):
        at, weight = _pose(rover, ground, heading, friction=MU)
        exact = weight * (MU * np.cos(slope) + sign * np.sin(slope))
        assert at.traction == pytest.approx(exact, rel=1e-6)
        assert at.tilt == pytest.approx(slope, abs=1e-6)
        assert np.tan(slope) - 2e-3 < at.friction_demand < np.tan(slope) + 2e-3
    at, weight = _pose(rover, ground, np.pi / 2, friction=MU)
    most = weight * np.sqrt((MU * np.cos(slope)) ** 2 - np.sin(slope) ** 2)
    # the hitch is not above the centre of mass: some friction has to hold the yaw
    assert 0.9 * most < at.traction <= most * (1 + 1e-6)


def test_too_steep_to_stand():
    slope = np.arctan(MU) + 0.02
    up, weight = _pose("exomars", _plane(slope), 0.0, friction=MU)
    assert up.traction == pytest.approx(weight * (MU * np.cos(slope) - np.sin(slope)), rel=1e-5)
    assert up.traction < 0 and up.friction_demand > MU and up.verdict == 2
    # no force along the heading helps a rover that slides sideways
    across, _ = _pose("exomars", _plane(slope), np.pi / 2, friction=MU)
    assert np.isnan(across.traction) and across.verdict == 2


def _four(tmp_path, half_track=0.5, height=0.6, closed=False, drives=True) -> Robot:
    """Four wheels at (±1, ±half_track) on a rigid chassis, its mass at a height over the ground."""
    r = 0.1
    wheels = "".join(
        f'<body name="{a}{s}" pos="{x} {y} {r - height}"><joint name="{a}{s}_w" axis="0 1 0"/>'
        f'<geom size="{r}" mass="1e-6"/></body>'
        for a, x in (("F", 1), ("R", -1))
        for s, y in (("L", half_track), ("R", -half_track))
    )
    loop = '<equality><connect body1="FL" body2="FR" anchor="0 0 0"/></equality>' if closed else ""
    path = tmp_path / "four.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1" mass="50"/>'
        f"{wheels}</body></worldbody>{loop}</mujoco>"
    )
    names = ("FL", "FR", "RL", "RR")
    return Robot.model_validate(
        {
            "name": "four",
            "model": path,
            "base": "b",
            "wheels": {
                n: {"body": n, "joint": f"{n}_w", "radius": r, "width": 0.05, "shape": "disc"}
                for n in names
            },
            "roles": {"drives": [f"{n}_w" for n in (names if drives else names[2:])]},
        }
    )


def test_tip_over_angle_of_a_symmetric_rover(tmp_path):
    """atan(half track / height of the centre of mass), less the slope it stands across."""
    robot = _four(tmp_path, 0.5, 0.6)
    level, _ = _pose(robot, _plane(0.0))
    assert level.margin == pytest.approx(np.arctan(0.5 / 0.6), abs=1e-6)
    across, _ = _pose(robot, _plane(0.2), np.pi / 2)
    assert across.margin == pytest.approx(np.arctan(0.5 / 0.6) - 0.2, abs=1e-6)


def test_a_rigid_rover_with_two_driven_wheels_by_hand(tmp_path):
    """Rear wheels pull at the height h of the hitch: N_rear = m g/2 + F h/2l, F = μ N_rear."""
    robot = _four(tmp_path, 0.5, 0.6, drives=False)
    at, weight = _pose(robot, _plane(0.0), friction=0.5)
    assert at.traction == pytest.approx(0.5 * weight / 2 / (1 - 0.5 * 0.6 / 2), rel=1e-6)


def test_drives_bound_the_pull():
    at, weight = _pose("exomars", _plane(0.0), friction=MU, torque=5.0)
    assert at.traction == pytest.approx(6 * 5.0 / 0.1425, rel=1e-6)
    one, _ = _pose("exomars", _plane(0.0), friction=MU, torque={"FL": 5.0})
    assert 6 * 5.0 / 0.1425 < one.traction < MU * weight
    none, _ = _pose("exomars", _plane(0.0), friction=MU, torque=0.0)
    assert none.traction == pytest.approx(0.0, abs=1e-6 * weight)


# --- symmetry


class Bumpy:
    """Smooth rough ground, and its mirror image."""

    def __init__(self, mirror=1.0):
        self.mirror = mirror

    def height(self, x, y):
        y = self.mirror * y
        return 0.08 * np.sin(3.1 * x + 0.4) * np.cos(2.3 * y + 0.7) + 0.1 * x + 0.05 * y


def test_a_mirrored_ground_gives_mirrored_results():
    poses = np.column_stack([np.linspace(-2, 2, 12), np.linspace(-1, 1.5, 12), np.arange(12) * 0.5])
    # the same heights exactly: grids that are mirror images, too
    area = np.array([[-4.0, -4.0, 0.0], [4.0, 4.0, 0.0]])
    one = path_profile("exomars", Bumpy(), np.vstack([poses, area]))
    other = path_profile("exomars", Bumpy(-1.0), np.vstack([poses, area]) * [1, -1, -1])
    both = (one.converged & other.converged).to_numpy()[:12]
    assert both.sum() >= 10
    for name, sign in (("roll", -1), ("pitch", 1), ("height", 1), ("margin", 1)):
        assert np.allclose(one[name][:12][both], sign * other[name][:12][both], atol=1e-5), name
    assert np.allclose(one.traction_ratio[:12][both], other.traction_ratio[:12][both], atol=1e-4)


def test_threads_do_not_change_a_bit():
    settings = {"spacing": 1.0, "bounds": (-2.0, 2.0, -2.0, 2.0), "headings": 5}
    one = traction_map("exomars", Bumpy(), threads=1, **settings)
    for threads in (2, 3):
        assert one.identical(traction_map("exomars", Bumpy(), threads=threads, **settings))


# --- rough ground, other solvers


def _fractal(seed: int, spacing=0.05, half=4.0) -> tuple[HeightGrid, object]:
    """A fractal ground as a grid for the kernels and as a terrain."""
    source = build_terrain(
        validate_terrain(
            {
                "title": "f",
                "seed": seed,
                "layers": [
                    {"kind": "fractal", "hurst": 0.6, "roughness": "12 cm", "lag": "1 m",
                     "spacing": "10 cm", "patch": "25.6 m"}
                ],
            },
            "f",
        )
    )  # fmt: skip
    at = np.arange(-half, half + spacing / 2, spacing)
    height = source.height(*np.meshgrid(at, at))
    layer = {"kind": "array", "values": height.tolist(), "origin": [-half, -half],
             "spacing": spacing, "interpolation": "linear"}  # fmt: skip
    return HeightGrid(height, -half, -half, 1 / spacing, 1 / spacing), _terrain(layer)


def _random_poses(seed: int, count: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.column_stack([random.uniform(-2, 2, (count, 2)), random.uniform(0, 6.28, count)])


class Judge:
    """One pose after the other, with a look at what the kernels leave in their scratch."""

    def __init__(self, rover, grid, torque=None):
        self.tables, self.names = rover_tables(rover, torque=torque)
        self.grid = grid
        self.placing, self.work = placing_work(self.tables), traction_work(self.tables)
        self.asked = Asked(G, MU, typical_length(self.tables))
        self.unit = G * self.tables.chain.carried[0] * self.asked.length

    def __call__(self, x, y, heading):
        numbers, loads = np.zeros((1, 9)), np.zeros((1, len(self.names.wheels)))
        pose = np.array([[x, y, heading]])
        judge_poses(
            self.tables, self.grid, self.asked, pose, self.placing, self.work, numbers, loads
        )
        _, _, _, _, margin, pull, demand, converged, _ = numbers[0]
        contacts = int(self.work.statics.rocking[2])
        return margin, pull, demand, bool(converged), contacts, loads[0]


@pytest.mark.parametrize(("nets", "near", "shares"), [(6, 1e-9, 1e-5), (12, 3e-4, 0.02)])
@pytest.mark.parametrize("rover", ROVERS)
def test_stands_are_those_of_the_placer(rover, nets, near, shares, monkeypatch):
    """To rounding with as many nets over the treads, to 0.3 mrad with the placer's own twelve."""
    monkeypatch.setattr("marsyard.control.placement._PASSES", nets)
    grid, terrain = _fractal(3)
    judge, placer = Judge(rover, grid), Placer(rover, terrain, gravity=G)
    compared = 0
    for x, y, heading in _random_poses(1, 8):
        _, _, _, converged, _, load = judge(x, y, heading)
        stand = placer.place(x, y, heading)
        assert nets > 6 or converged == stand.converged
        if not (converged and stand.converged):
            continue
        u = judge.placing.pose.u
        assert u[0] == pytest.approx(stand.position[2], abs=near)
        assert u[1:3] == pytest.approx([stand.roll, stand.pitch], abs=near)
        assert u[3:] == pytest.approx([stand.joints[j] for j in judge.names.joints], abs=near)
        assert load == pytest.approx(stand.load, abs=shares * stand.load.sum())
        compared += 1
    assert compared >= 5


def _clarabel(A, b, c, cones):
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    n, m = len(c), len(b)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    kinds = [clarabel.ZeroConeT(m)] + [clarabel.SecondOrderConeT(3)] * cones
    kinds += [clarabel.NonnegativeConeT(n - 3 * cones)] if n > 3 * cones else []
    rows = sparse.csc_matrix(np.vstack([A, -np.eye(n)]))
    right = np.concatenate([b, np.zeros(n)])
    solver = clarabel.DefaultSolver(sparse.csc_matrix((n, n)), c, rows, right, kinds, settings)
    return solver.solve()


def _program(judge, contacts, friction, pulling):
    cone = judge.work.cone
    rows, n = assemble(
        judge.tables, judge.work.statics, contacts, friction, judge.unit, pulling, cone
    )
    return cone.A[:rows, :n].copy(), cone.dual[5, :rows].copy(), cone.vector[10, :n].copy()


@pytest.mark.parametrize(
    ("rover", "torque"),
    [("exomars", None), ("exomars", 25.0), ("curiosity_like", None), ("rashid_like", None),
     ("sojourner", {"FL": 0.0, "RR": 1.0}), ("vehicle_2001", None)],
)  # fmt: skip
def test_pull_and_demand_are_those_of_clarabel(rover, torque):
    """Also where there are no forces at all; demand: possible just above, impossible just below."""
    grid, _ = _fractal(5)
    judge = Judge(rover, grid, torque)
    solved = 0
    for x, y, heading in _random_poses(2, 50):
        margin, pull, demand, _, contacts, _ = judge(x, y, heading)
        other = _clarabel(*_program(judge, contacts, MU, True), contacts)
        possible = str(other.status) in ("Solved", "AlmostSolved")
        assert possible == bool(np.isfinite(pull))
        if possible:
            assert pull + PULL == pytest.approx(-other.obj_val, abs=1e-6)
            solved += 1
        if np.isfinite(demand) and demand > 6e-3:
            outcome = [
                str(_clarabel(*_program(judge, contacts, mu, False), contacts).status)
                for mu in (demand + 1e-3, demand - 4e-3)
            ]
            assert outcome[0] in ("Solved", "AlmostSolved")
            assert "Infeasible" in outcome[1]
        corners, centre = judge.work.statics.point[:contacts], judge.placing.pose.moved[0]
        if contacts >= 3:
            angle = stability_margin.tip_over_angle(corners, centre, np.array([0, 0, -1.0]))
            assert margin == pytest.approx(angle - judge.work.statics.rocking[1], abs=1e-9)
    assert solved >= 40


@pytest.mark.parametrize("rover", ["exomars", "curiosity_like", "vehicle_2001"])
def test_a_rover_that_can_stand_has_a_pull(rover):
    """Two programs, one answer: forces for F = 0 at the friction given mean a largest F ≥ 0."""
    grid, _ = _fractal(9)
    judge = Judge(rover, grid)
    numbers, _ = many(judge.tables, grid, judge.asked, _random_poses(3, 1000))
    pull, demand = numbers[:, 5], numbers[:, 6]
    stands = demand < MU
    assert stands.sum() > 500
    assert (pull[stands] > -1e-6).all()


def _unconverged(grid, count=1500) -> tuple[Judge, np.ndarray]:
    judge_one, poses = Judge("exomars", grid), _random_poses(1, count)
    numbers, _ = judge(judge_one.tables, grid, judge_one.asked, poses)
    return judge_one, poses[numbers[:, COLUMNS.index("converged")] == 0]


def test_a_search_that_ends_at_a_kink_has_found_the_stand():
    """Six wheels carry and there are six unknowns, so the stand is where all gaps vanish."""
    grid, terrain = _fractal(3)
    judge_one, poses = _unconverged(grid)
    placer = Placer("exomars", terrain, gravity=G)
    compared = 0
    for x, y, heading in poses:
        *_, converged, contacts, load = judge_one(x, y, heading)
        assert not converged
        if load.min() < 1.0:
            continue
        assert contacts >= 6
        u = judge_one.placing.pose.u
        joints = dict(zip(judge_one.names.joints, u[3:], strict=True))
        gap = placer.gaps(np.array([x, y, u[0]]), u[1], u[2], heading, joints)
        assert np.abs(gap).max() < 3e-4
        compared += 1
    assert compared >= 5


def test_a_search_that_ends_at_a_kink_makes_nothing_hard():
    _, terrain = _fractal(3)
    found = path_profile("exomars", terrain, _random_poses(1, 1500), friction=MU, gravity=G)
    ratio, demand = found.traction_ratio.values, found.friction_demand.values / MU
    good = (ratio > 0.1) & (demand < 0.8) & (found.tilt.values < math.radians(20))
    kink = good & (found.margin.values > math.radians(10)) & ~found.converged.values
    assert kink.sum() >= 3 and (found.verdict.values[kink] == 0).all()


def test_a_pull_that_is_hard_to_find_is_found():
    """A stand on mild ground at which the program of the pull gets stuck at the full friction."""
    terrain = build_terrain(*load_terrain("fractal_mild"))
    tables, _ = rover_tables("exomars")
    area = maps._grown((-10.0, 10.0, -10.0, 10.0), maps._reach(tables), None)
    judge_one = Judge("exomars", maps._heights(terrain, area, tables.wheels.radius.min() / 3))
    _, pull, demand, _, contacts, _ = judge_one(9.25, -7.25, 0.0)
    exact = _clarabel(*_program(judge_one, contacts, MU, 1), contacts)
    assert demand < 0.1
    assert pull == pytest.approx(-exact.obj_val - PULL, abs=3e-4)


def test_balance_by_mujoco():
    """The forces of the largest pull, put on the model of MuJoCo, leave no free joint a torque."""
    import mujoco

    grid, terrain = _fractal(7)
    judge = Judge("curiosity_like", grid)
    tables, names, work = judge.tables, judge.names, judge.work
    pose, touch, statics = judge.placing.pose, judge.placing.touch, judge.work.statics
    weight = G * tables.chain.carried[0]
    _, pull, _, converged, contacts, _ = judge(0.3, -0.4, 0.8)
    assert converged and np.isfinite(pull)

    placer = Placer("curiosity_like", terrain, gravity=G)
    placer.place(0.3, -0.4, 0.8)
    model, data = placer.kinematics.model, placer.kinematics.data
    mujoco.mj_fwdPosition(model, data)
    total = np.zeros(model.nv)

    def push(force, point, body):
        mujoco.mj_applyFT(model, data, force, np.zeros(3), point, body, total)

    x = work.cone.vector[0]
    ratio = []
    for i in range(contacts):
        m = statics.contact[i]
        k = touch.wheel[m]
        n = touch.normal[m] / np.linalg.norm(touch.normal[m])
        t = np.cross(pose.frame[k, 2], n)
        t /= np.linalg.norm(t)
        N, T, S = x[3 * i] / MU, x[3 * i + 1], x[3 * i + 2]
        ratio.append(np.hypot(T, S) / N)
        force = weight * (N * n + T * t + S * np.cross(n, t))
        push(force, touch.point[m].copy(), int(placer.kinematics.wheel_body[k]))
    for body in range(model.nbody):
        push(np.array([0, 0, -G * model.body_mass[body]]), data.xipos[body].copy(), body)
    backwards = weight * pull * statics.pull[:3]
    push(backwards.copy(), data.xpos[placer.kinematics.base].copy(), placer.kinematics.base)
    assert max(ratio) <= MU * (1 + 1e-6)
    # what is left works on no motion that the differential allows
    free = [*range(6), *(int(model.joint(j).dofadr[0]) for j in names.joints)]
    allowed = np.zeros((len(free), 6 + tables.limits.basis.shape[1]))
    allowed[:6, :6] = np.eye(6)
    allowed[6:, 6:] = tables.limits.basis
    assert np.abs(allowed.T @ total[free]).max() < 1e-5 * weight


def _mesh(terrain, x, y, half=1.4, count=57):
    """Triangles of a terrain around a place."""
    at = np.linspace(-half, half, count)
    X, Y = np.meshgrid(x + at, y + at)
    p = np.stack([X, Y, terrain.height(X, Y)], axis=-1)
    low, high = (p[:-1, :-1], p[:-1, 1:], p[1:, :-1]), (p[:-1, 1:], p[1:, 1:], p[1:, :-1])
    return np.concatenate([np.stack(t, axis=-2).reshape(-1, 3, 3) for t in (low, high)]).tolist()


def test_a_rigid_four_wheeler_stands_where_its_simulation_does(tmp_path):
    """Three wheels carry it, and it rocks onto the fourth: no reason not to go on gentle ground."""
    robot = _four(tmp_path, 0.5, 0.4)
    terrain = build_terrain(*load_terrain("fractal_mild"))
    poses = _random_poses(7, 100)
    found = path_profile(robot, terrain, poses, friction=MU, gravity=G)
    assert np.degrees(found.tilt.values).max() < 8
    # most stand on three wheels, and none is no-go; the pull is nearly all friction less the slope
    assert np.mean(found.contacts.values <= 3) > 0.8
    assert (found.verdict.values == 0).all()
    assert found.traction_ratio.values.min() > MU - 0.25
    model = {"name": str(tmp_path / "four.yaml")}
    (tmp_path / "four.yaml").write_text(
        "model: four.xml\nbase: b\nwheels:\n"
        + "".join(
            f"  {n}: {{body: {n}, joint: {n}_w, radius: 0.1, width: 0.05, shape: disc}}\n"
            for n in robot.wheels
        )
        + f"roles: {{drives: [{', '.join(w.joint for w in robot.wheels.values())}]}}\n"
    )
    for k in range(4):
        x, y, heading = poses[k]
        roll, pitch = float(found["roll"][k]), float(found["pitch"][k])
        place = [x, y, float(found.height[k]) + 1e-3]
        sim = Simulation(
            validate(
                {
                    "robot": {**model, "position": place, "attitude": [roll, pitch, heading]},
                    "ground": [{"kind": "mesh", "triangles": _mesh(terrain, x, y)}],
                    "gravity": G,
                    "interaction": {"friction": MU},
                    "control": [{"joints": "drives", "speed": 0}],
                    "run": {"duration": 2.0, "step": "2 ms"},
                }
            )
        ).run()
        assert np.abs(sim.qvel).max() < 0.05
        assert np.hypot(*(sim.qpos[:2] - [x, y])) < 0.02
        # as the map says, or rocked onto the other wheel
        up = 1 - 2 * (sim.qpos[4] ** 2 + sim.qpos[5] ** 2)
        assert abs(np.arccos(up) - float(found.tilt[k])) < np.radians(4)


def test_a_rover_balanced_on_a_diagonal_falls_to_a_side(tmp_path):
    """A saddle z = c x y: all four wheels would touch at ±c a b, two of them do."""
    a, b, twist = 1.0, 0.5, 0.04
    robot = _four(tmp_path, b, 0.6)
    axis = np.linspace(-3, 3, 301)
    X, Y = np.meshgrid(axis, axis)
    layer = {"kind": "array", "values": (twist * X * Y).tolist(), "origin": [-3, -3],
             "spacing": 0.02, "interpolation": "linear"}  # fmt: skip
    at = path_profile(robot, _terrain(layer), np.zeros((1, 3)), friction=MU, gravity=G)
    # it stands on the wheels of one diagonal and one of the other: 2 c a b is the gap of the fourth
    judge_one = Judge(robot, HeightGrid(twist * X * Y, -3.0, -3.0, 50.0, 50.0))
    judge_one(0.0, 0.0, 0.0)
    touch = judge_one.placing.touch
    gaps = np.sort([touch.gap[touch.wheel == w][0] for w in range(4)])
    assert gaps[2] < 1e-3
    assert gaps[3] == pytest.approx(4 * twist * a * b, rel=0.05)
    assert at.contacts.values[0] == 3 and at.verdict.values[0] == 0
    # the support polygon is that of all four wheels, less the turn of the rocking
    rocking = np.arctan(gaps[3] / (2 * a * b / np.hypot(a, b)))
    assert at.margin.values[0] == pytest.approx(np.arctan(b / 0.6) - rocking, abs=0.06)


def test_a_joint_at_its_stop_carries(tmp_path):
    """With a bogie's joint at its stop the rover stands; the statics know the stop's moment."""
    robot = load_robot("exomars_rt0448")
    text = robot.model.read_text(encoding="utf-8")
    joint = '<joint name="FLBogie_y" axis="0 1 0"'
    path = tmp_path / "limited.xml"
    path.write_text(text.replace(joint, joint + ' limited="true" range="-0.05 0.05"'))
    limited = robot.model_copy(update={"model": path})

    class Table:
        def height(self, x, y):
            near = np.maximum(np.abs(x - 0.8), np.abs(y - 0.6))
            return 0.1 * np.clip((0.4 - near) / 0.2, 0, 1)

    at, weight = _pose(limited, Table(), friction=MU)
    assert at.converged and np.isfinite(at.traction)
    assert (at.wheel_load < 1e-3 * weight).any() and (at.contacts < 6)


# --- the solvers alone


def test_quadratic_programs_by_non_negative_least_squares():
    from marsyard.control.placement import quadratic

    random = np.random.default_rng(4)
    for _ in range(200):
        n, rows = int(random.integers(2, 8)), int(random.integers(1, 20))
        root = random.normal(size=(n, n))
        H, g = root @ root.T + 0.1 * np.eye(n), random.normal(size=n)
        G = random.normal(size=(rows, n))
        h = G @ random.normal(size=n) - random.uniform(0, 1, rows)
        x, multiplier = np.zeros(n), np.zeros(rows)
        assert quadratic_program(H, g, G, h, n, rows, x, multiplier, *program_work(n, rows)) == 0
        other, _ = quadratic(H, g, G, h)
        assert x == pytest.approx(other, abs=1e-7 * (1 + np.abs(other).max()))
        # Karush, Kuhn, Tucker
        assert np.abs(H @ x + g - G.T @ multiplier).max() < 1e-8 * (1 + np.abs(multiplier).max())
        assert multiplier.min() >= 0 and (G @ x - h).min() > -1e-9
        assert np.abs(multiplier * (G @ x - h)).max() < 1e-8 * (1 + np.abs(multiplier).max())


def test_a_quadratic_program_without_a_solution():
    G, h = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0])
    room = program_work(2, 2)
    outcome = quadratic_program(np.eye(2), np.zeros(2), G, h, 2, 2, np.zeros(2), np.zeros(2), *room)
    assert outcome == 1
