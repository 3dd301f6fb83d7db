"""From a scenario to soil: the grid, the soils' numbers, and the arrays of the loop.

Which bodies of the robot may touch it says `soil_bodies`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import Soil, load_soil
from marsyard.ground.soil_grid import SoilGrid
from marsyard.ground.terrain import Terrain, build_terrain, closed_forms
from marsyard.interaction.soil_columns.arrays import LAW_COLUMNS
from marsyard.interaction.soil_columns.numbers import (
    ColumnOptions,
    curve_rows,
    granular_row,
    law_row,
)
from marsyard.interaction.soil_contact.arrays import (
    BELT,
    LEFT_THE_MAP,
    MESH,
    MODEL,
    SOIL_COLUMNS,
    STIFF_COLUMNS,
    TOTAL_COLUMNS,
    WHEEL,
    Bodies,
    Patch,
    Soils,
    make_patch,
)
from marsyard.interaction.soil_contact.belt import Belts, bend, lay_belt, make_belts
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel
from marsyard.interaction.wheel_models.on_terrain import WheelLaws, make_laws
from marsyard.robot import Robot
from marsyard.scenario.schema import Interaction, Scenario
from marsyard.scenario.soil import SoilContact, TerrainGround
from marsyard.scenario.terrain import BumpLayer
from marsyard.scenario.terrain_file import load_terrain
from marsyard.simulation.soil import (
    FLOW_TIME,
    FLOWING,
    NUMBERS,
    STRESS_BINS,
    SUM_COLUMNS,
    TABLES,
    SoilLoop,
)
from marsyard.simulation.soil_bodies import SoilBody, check_resolution, find_bodies
from marsyard.simulation.tables import address_table

#: soils without elastic unloading release their stress within p/this [Pa/m]
RIGID_UNLOADING = 1e9
#: arrays of the loop that belong to the state
COUNTED = ("sums", "total", "bins", "bin_count", "evaluations", "travel")
#: nodes a body has room for, at least; also for slopes that wait for the next flow
FEWEST_ROOM = 4096
#: and at most; a body of 40 m on a spacing of 2 cm
MOST_ROOM = 4_000_000


@dataclass
class SoilWorld:
    """The soil of a simulation."""

    name: str
    grid: SoilGrid
    soils: tuple[Soil, ...]
    bodies: Bodies
    numbers: Soils
    patch: Patch
    loop: SoilLoop
    names: tuple[str, ...]  # of the bodies
    laws: WheelLaws
    belts: Belts

    def refresh(self) -> None:
        """Have the loop use the grid's present arrays, after tiles were made."""
        self.loop.table[:] = address_table(
            self.grid.arrays, self.numbers, self.bodies, self.patch, self.laws, self.belts
        )

    def make_tiles(self) -> None:
        """Make the tiles the loop asked for."""
        self.grid.fill_requests()
        self.refresh()

    def gap(self, data: mujoco.MjData) -> float:
        """Smallest height of the bodies' surfaces over the undisturbed terrain [m]."""
        return min((self._gap_of(b, data) for b in range(len(self.names))), default=np.inf)

    def _gap_of(self, b: int, data: mujoco.MjData) -> float:
        if self.bodies.kind[b] in (MESH, BELT):
            g, body = int(self.loop.geom[b]), int(self.loop.body[b])
            first, last = self.bodies.triangles[b]
            local = self.bodies.triangle[first:last].reshape(-1, 3)
            turn, place = (
                (data.geom_xmat[g], data.geom_xpos[g])
                if g >= 0
                else (data.xmat[body], data.xpos[body])
            )
            points = local @ turn.reshape(3, 3).T + place
        else:
            radius, half, rounding, crown, taper = self.bodies.shape[b]
            axis = data.xaxis[self.loop.joint[b]]
            side = np.cross(axis, [0.0, 0.0, 1.0])
            side /= max(float(np.linalg.norm(side)), 1e-9)
            up = np.cross(side, axis)
            angle = np.linspace(-np.pi / 2, np.pi / 2, 181)[:, None, None]
            y = np.linspace(-half, half, 9)[None, :, None]
            R = radius + taper * y - abs(taper) * half
            if crown > 0:
                R += np.sqrt(np.maximum(crown**2 - y**2, 0.0)) - crown
            if rounding > 0:
                over = np.maximum(np.abs(y) - half + rounding, 0.0)
                R += np.sqrt(np.maximum(rounding**2 - over**2, 0.0)) - rounding
            rim = R * (np.sin(angle) * side - np.cos(angle) * up) + y * axis
            points = (data.xpos[self.loop.body[b]] + rim).reshape(-1, 3)
        return float(np.min(points[:, 2] - self.grid.terrain.height(points[:, 0], points[:, 1])))

    def explain(self, status: int) -> str:
        """Why the soil stopped a run, in words."""
        if status == LEFT_THE_MAP and self.grid.terrain.bounds is not None:
            xmin, xmax, ymin, ymax = self.grid.terrain.bounds
            x, y = self.bodies.centre[:, 0], self.bodies.centre[:, 1]
            b = int(np.argmin((xmin <= x) & (x <= xmax) & (ymin <= y) & (y <= ymax)))
            return (
                f"{self.names[b]} left the map at x = {x[b]:.3f}, y = {y[b]:.3f} m "
                f"(ground.{self.name} ends at x {xmin:g} to {xmax:g}, y {ymin:g} to {ymax:g} m; "
                "set its 'outside' to flat to let it go on)"
            )
        return (
            f"more than {self.patch.key.shape[2]} nodes of ground.{self.name} under one "
            "body; is it deep inside the ground?"
        )

    # --- state

    def state(self) -> dict[str, np.ndarray]:
        """All that can change, for saving."""
        out = {f"soil_{name}": a for name, a in self.grid.state().items()}
        p = self.patch
        for b in range(len(p.side)):
            now = int(p.side[b])
            n = int(p.listed[now, b])
            out[f"soil_contact_{b}_node"] = p.node[now, b, :n].copy()
            out[f"soil_contact_{b}_key"] = p.key[now, b, :n].copy()
            out[f"soil_contact_{b}_touching"] = p.touching[now, b, :n].copy()
            out[f"soil_contact_{b}_state"] = p.state[now, b, :n].copy()
        for name in COUNTED:
            out[f"soil_{name}"] = getattr(self.loop, name).copy()
        out["soil_wheel_state"] = self.laws.state.copy()
        out["soil_belt_rise"] = self.belts.rise.copy()
        if self.grid.columns:
            out["soil_flow_due"] = self.loop.numbers[[FLOW_TIME, FLOWING]]
        return out

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to a saved state."""
        prefix = "soil_"
        names = ["tile", "top", "request", "ref", "depth", "flag", "time", "queue"]
        if self.grid.columns:
            names.append("column")
        self.grid.restore({name: state[prefix + name] for name in names})
        if self.grid.columns:
            self.loop.numbers[[FLOW_TIME, FLOWING]] = state["soil_flow_due"]
        p = self.patch
        p.side[:] = 0
        p.touched[:] = -1  # not known: the lists are compared
        for b in range(len(p.side)):
            n = len(state[f"soil_contact_{b}_node"])
            p.listed[0, b] = n
            p.node[0, b, :n] = state[f"soil_contact_{b}_node"]
            p.key[0, b, :n] = state[f"soil_contact_{b}_key"]
            p.touching[0, b, :n] = state[f"soil_contact_{b}_touching"]
            p.state[0, b, :n] = state[f"soil_contact_{b}_state"]
        for name in COUNTED:
            getattr(self.loop, name)[:] = state[f"soil_{name}"]
        self.laws.state[:] = state["soil_wheel_state"]
        self.belts.rise[:] = state["soil_belt_rise"]
        for belt in np.flatnonzero(self.belts.nodes):
            bend(self.belts, self.bodies, int(belt))
        self.refresh()


def terrain_of(ground: TerrainGround) -> Terrain:
    """The undisturbed terrain of a ground: from the library, a file, or as described in place."""
    if isinstance(ground.terrain, str):
        return build_terrain(*load_terrain(ground.terrain))
    return build_terrain(ground.terrain)


def soils_of(ground: TerrainGround, terrain: Terrain) -> tuple[Soil, ...]:
    """The soils of a terrain's places; the ground's own choice replaces the first."""
    out = []
    for k, name in enumerate(terrain.soils):
        chosen: Any = ground.soil if k == 0 and ground.soil is not None else name
        if k == 0 and ground.soil is None and name == "default":
            raise InputError(
                "soil: is required and missing; give a soil of the library (see `marsyard list "
                "soils`) or its numbers"
            )
        out.append(_load_own(chosen, ground))
    return tuple(out)


def _load_own(chosen: Any, ground: TerrainGround) -> Soil:
    """A soil of the library, of a file, or of the ground's own by its name there."""
    if not isinstance(chosen, str) or chosen not in ground.soils:
        return load_soil(chosen)
    if chosen in library.names("soils"):
        raise InputError(f"soils.{chosen}: the library has a soil of that name; choose another")
    return replace(load_soil(ground.soils[chosen]), name=chosen)


def build_soil(
    scenario: Scenario, robot: Robot, model: mujoco.MjModel, wheel_shape: str | None
) -> SoilWorld | None:
    """The soil of a scenario, or None if it has no ground of kind terrain."""
    grounds = [g for g in scenario.ground if isinstance(g, TerrainGround)]
    if not grounds:
        return None
    if len(grounds) > 1:
        raise InputError("ground: only one ground of kind terrain is allowed; use soil by place")
    ground = grounds[0]
    try:
        terrain = terrain_of(ground)
        soils = soils_of(ground, terrain)
        columns = scenario.interaction.soil.model == "columns"
        grid = SoilGrid(terrain, ground.spacing, ground.outside, columns)
        for heap in ground.heaps:
            _lay_heap(grid, heap)
        world = _assemble(scenario, robot, model, wheel_shape, str(ground.name), grid, soils)
        if ground.heaps:
            # loose soil slides in the first step
            world.loop.travel[0] = np.inf
        return world
    except InputError as error:
        raise InputError(f"ground.{ground.name}: {error}") from None


def _assemble(
    scenario: Scenario,
    robot: Robot,
    model: mujoco.MjModel,
    wheel_shape: str | None,
    name: str,
    grid: SoilGrid,
    soils: tuple[Soil, ...],
) -> SoilWorld:
    options = scenario.interaction.soil
    found = find_bodies(robot, model, wheel_shape)
    laws = make_laws(len(found), len(soils))
    if scenario.interaction.wheel is not None:
        weight = float(model.body_subtreemass[0]) * scenario.gravity
        _wheel_laws(laws, robot, scenario.interaction, soils, scenario.gravity, weight)
        found = [replace(b, kind=MODEL) if b.kind == WHEEL else b for b in found]
    check_resolution(found, grid.spacing)
    n = len(found)
    numbers = _soil_numbers(soils, found, options, scenario.gravity)
    triangles = np.concatenate([np.zeros((0, 9)), *(b.triangles for b in found)])
    ends = np.cumsum([0, *(len(b.triangles) for b in found)])
    f = np.zeros
    bodies = Bodies(
        kind=np.array([b.kind for b in found], dtype=np.int64),
        shape=np.array([b.shape for b in found], dtype=float).reshape(n, 5),
        reach=np.array([b.reach for b in found], dtype=float),
        triangles=np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64),
        triangle=triangles,
        centre=f((n, 3)), axis=f((n, 3)), rotation=f((n, 9)), twist=f((n, 7)),
    )  # fmt: skip
    room = max([FEWEST_ROOM, *(int((2 * b.reach / grid.spacing + 3) ** 2) for b in found)])
    if room > MOST_ROOM:
        large = max(found, key=lambda b: b.reach)
        raise InputError(
            f"{large.name} is {2 * large.reach:.3g} m long or wide, too large for a spacing of "
            f"{grid.spacing:g} m; is one of its sizes wrong?"
        )
    patch = make_patch(n, room)
    belts = make_belts(n)
    belt_dof = np.full(n, -1, dtype=np.int64)
    for b, body in enumerate(found):
        if body.belt is not None:
            belt_dof[b] = model.jnt_dofadr[model.joint(body.belt.joint).id]
            lay_belt(belts, b, body.belt)
    chains = [
        sorted([*chain_of(model, b.body), *([int(d)] if d >= 0 else [])])
        for b, d in zip(found, belt_dof, strict=True)
    ]
    k = max([1, *(len(c) for c in chains)])
    chain = np.zeros((n, k), dtype=np.int64)
    address = np.full((n, k, k), -1, dtype=np.int64)
    for b, dofs in enumerate(chains):
        chain[b, : len(dofs)] = dofs
        fill_addresses(model, dofs, address[b])
    h = scenario.run.step
    bounds = (-np.inf, np.inf, -np.inf, np.inf)
    if grid.terrain.bounds is not None and grid.outside == "stop":
        bounds = grid.terrain.bounds
    after = options.flow_travel * grid.spacing
    loop = SoilLoop(
        body=np.array([b.body for b in found], dtype=np.int64),
        joint=np.array([b.joint for b in found], dtype=np.int64),
        geom=np.array([b.geom for b in found], dtype=np.int64),
        wheel=np.array([b.wheel for b in found], dtype=np.int64),
        root=np.array([model.body_rootid[b.body] for b in found], dtype=np.int64),
        reach=bodies.reach, chain=chain,
        chain_count=np.array([len(c) for c in chains], dtype=np.int64),
        address=address, jacobian=f((n, 7, k)),
        organ=np.array([b.organ for b in found], dtype=np.int64), belt=belt_dof,
        belt_radius=np.array([b.belt.pitch_radius if b.belt else 0.0 for b in found]),
        centre=bodies.centre, axis=bodies.axis, rotation=bodies.rotation, twist=bodies.twist,
        force=patch.force, stiff=patch.stiff, total=patch.total, field=patch.field,
        field_count=patch.field_count,
        generalised=f(model.nv), sums=f((n, SUM_COLUMNS)),
        bins=f((n, STRESS_BINS, 3)), bin_count=f(1, np.int64),
        numbers=np.array(
            [h, scenario.run.theta * h, 0, options.flow, options.deposit_exponent, 1, *bounds,
             *_column_numbers(options, grid.spacing, scenario.gravity)],
            dtype=float,
        ),
        table=f((TABLES, 5), np.int64), flow_after=np.array([after]), travel=f(1),
        evaluations=f(1, np.int64), answer=f(1, np.int64),
    )  # fmt: skip
    names = tuple(b.name for b in found)
    world = SoilWorld(name, grid, soils, bodies, numbers, patch, loop, names, laws, belts)
    world.refresh()
    return world


def change_soils(
    world: SoilWorld,
    scenario: Scenario,
    robot: Robot,
    model: mujoco.MjModel,
    soils: tuple[Soil, ...],
) -> None:
    """Go on with other numbers of the same soils; what wheels left in the ground stays."""
    found = find_bodies(robot, model, scenario.robot.wheel_shape)
    numbers = _soil_numbers(soils, found, scenario.interaction.soil, scenario.gravity)
    for old, new in zip(world.numbers, numbers, strict=True):
        old[...] = new
    if scenario.interaction.wheel is not None:
        weight = float(model.body_subtreemass[0]) * scenario.gravity
        law = scenario.interaction
        _wheel_laws(world.laws, robot, law, soils, scenario.gravity, weight)
    world.soils = soils


def no_soil(nv: int) -> SoilLoop:
    """What the loop gets when there is no soil."""
    f, i = np.zeros, np.int64
    return SoilLoop(
        body=f(0, i), joint=f(0, i), geom=f(0, i), wheel=f(0, i), root=f(0, i), reach=f(0),
        chain=f((0, 1), i),
        chain_count=f(0, i), address=f((0, 1, 1), i), jacobian=f((0, 7, 1)), organ=f(0, i),
        belt=f(0, i), belt_radius=f(0), centre=f((0, 3)),
        axis=f((0, 3)), rotation=f((0, 9)), twist=f((0, 7)), force=f((0, 7)),
        stiff=f((0, STIFF_COLUMNS)),
        total=f((0, TOTAL_COLUMNS)), field=f((0, 0, 7)), field_count=f(0, i), generalised=f(nv),
        sums=f((0, SUM_COLUMNS)), bins=f((0, STRESS_BINS, 3)), bin_count=f(1, i),
        numbers=f(NUMBERS), table=f((TABLES, 5), i), flow_after=f(1),
        travel=f(1), evaluations=f(1, i), answer=f(1, i),
    )  # fmt: skip


def _lay_heap(grid: SoilGrid, heap: BumpLayer) -> None:
    if heap.height <= 0:
        raise InputError(f"heaps: height = {heap.height:g} m: must be above 0")
    (x, y), r = heap.centre, heap.radius
    shape = closed_forms.bump(heap)
    # with room for the soil that slides off
    grid.make_area(x - 2 * r, x + 2 * r, y - 2 * r, y + 2 * r)
    grid.lay(shape)


# --- soils


def _soil_numbers(
    soils: tuple[Soil, ...], bodies: list[SoilBody], options: SoilContact, gravity: float
) -> Soils:
    columns = options.model == "columns"
    table = np.zeros((len(soils), SOIL_COLUMNS))
    modulus = np.zeros((len(bodies), len(soils)))
    layer = np.zeros((len(bodies), len(soils)))
    for s, soil in enumerate(soils):
        along = across = options.stick
        if options.shear == "janosi":
            along = soil.number("shear_modulus")
            across = soil.number("shear_modulus_lateral")
        unloading = soil.unloading_stiffness or options.unloading_stiffness
        if options.unloading == "none":
            unloading = RIGID_UNLOADING
        table[s] = (
            1.0 if columns else soil.number("exponent"), soil.number("cohesion"),
            math.tan(soil.number("friction_angle")), along, across, unloading,
            options.damping or soil.damping, math.tan(soil.number("repose_angle")),
        )  # fmt: skip
        for b, body in enumerate(bodies):
            width = options.width or body.width
            if not columns:
                modulus[b, s] = _modulus(soil, width, options.pressure, gravity)
            if options.slip_transport:
                layer[b, s] = body.lugs + soil.shear_layer
    if columns:
        return Soils(table, modulus, layer, *_column_laws(soils, bodies, options, gravity))
    return Soils(table, modulus, layer)


def _column_laws(
    soils: tuple[Soil, ...], bodies: list[SoilBody], options: SoilContact, gravity: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of soil in columns: by body and soil, measured curves, of the surface."""
    own = options.columns
    needed = {
        "bekker": ("exponent", "k_c", "k_phi"),
        "reece": ("exponent", "density", "reece_kc", "reece_kphi"),
    }[options.pressure]
    numbers = ColumnOptions(
        _soil_gravity(options, gravity), own.influence, own.depth, own.match_sinkage, own.rest,
        needed,
    )  # fmt: skip
    laws = np.zeros((max(len(bodies), 1), len(soils), LAW_COLUMNS))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for s, soil in enumerate(soils):
            for b, body in enumerate(bodies):
                width = options.width or body.width
                k = None
                if soil.has(*needed):
                    k = _modulus(soil, width, options.pressure, numbers.gravity)
                laws[b, s] = law_row(soil, width, k, numbers)
        granular = np.array([granular_row(soil, numbers) for soil in soils])
    # once for all bodies: the first that says it
    for soil in soils:
        texts = [str(w.message) for w in said if f"soil {soil.name}" in str(w.message)]
        for start in ("has no density", "its pressure-sinkage"):
            text = next((t for t in texts if start in t), None)
            if text is not None:
                warnings.warn(text, stacklevel=2)
    return laws, np.array([curve_rows(soil) for soil in soils]), granular


def _soil_gravity(options: SoilContact, gravity: float) -> float:
    g = options.columns.gravity or gravity
    if not g > 0:
        raise InputError(
            "interaction.soil.columns.gravity: is required where the scenario's gravity is 0, for "
            "columns carry and flow by their weight; e.g. 9.81"
        )
    return g


def _column_numbers(options: SoilContact, spacing: float, gravity: float) -> tuple[float, ...]:
    """The fields of `Options` for soil in columns, and the longest time between two flows [s]."""
    if options.model != "columns":
        return 0, 0.0, 1.0, 0.0, 1.0, 0, math.inf, 0
    own = options.columns
    g = _soil_gravity(options, gravity)
    # matter crosses no more than a quarter of a column in a step: its speed is at most ½ g/ν
    chunk = min(0.5 * spacing * own.viscosity / g, 0.25 / own.viscosity)
    return 1, 0.0, chunk, g, own.viscosity, own.planar, chunk, 0


def _modulus(soil: Soil, width: float, form: str, gravity: float) -> float:
    """k of p = k zⁿ for a body of this width [N/m^(n+2)]."""
    if form == "bekker":
        return soil.pressure_modulus(width)
    weight = soil.number("density") * gravity
    k = soil.number("cohesion") * soil.number("reece_kc")
    k += weight * width * soil.number("reece_kphi")
    if k <= 0:
        raise InputError(
            f"soil {soil.name}: c k'_c + γ b k'_φ = {k:.4g} Pa is not positive for b = {width:g} m"
        )
    return k / width ** soil.number("exponent")


def _wheel_laws(
    laws: WheelLaws,
    robot: Robot,
    interaction: Interaction,
    soils: tuple[Soil, ...],
    gravity: float,
    weight: float,
) -> None:
    """Fill in the wheel model of every wheel; wheels are the first bodies.

    Ding's mean load W̄ is, unless law or soil give it, the robot's weight [N] by its wheels.
    """
    law = interaction.wheel
    assert law is not None
    mean = {}
    if law.model == "ding" and weight > 0 and robot.wheels:
        mean = {"mean_load": weight / len(robot.wheels)}
    for b, (name, w) in enumerate(robot.wheels.items()):
        rule = law.exit or w.exit
        if rule is None and law.model == "rigid_slip":
            rule = Exit("angle", 0.0)  # no soil: it asks for none
        if rule is None:
            raise InputError(
                f"interaction.wheel.exit: wheel {name} of the robot has no exit rule of its own; "
                "give one, e.g. {rule: height, value: 0.9}"
            )
        wheel = Wheel(w.radius, w.width, rule, w.lug_height, law.shear_share, law.lug_share)
        laws.model[b] = MODELS[law.model][0]
        laws.wheel[b] = wheel.numbers()
        for s, soil in enumerate(soils):
            own_mean = {} if "mean_load" in soil.extra else mean
            made = WheelModel(law.model, wheel, soil, {**own_mean, **law.coefficients}, gravity)
            own = made.own_numbers()
            laws.own[b, s, : len(own)] = own
            laws.soil[b, s] = made.soil_numbers()
        laws.option[b] = law.damping_ratio, max(gravity, 0.1), float(law.rut)
    for s, soil in enumerate(soils):
        laws.unloading[s] = soil.unloading_stiffness or interaction.soil.unloading_stiffness


# --- degrees of freedom


def chain_of(model: mujoco.MjModel, body: int) -> list[int]:
    """Degrees of freedom between the world and a body, ascending."""
    dofs: list[int] = []
    while body > 0:
        first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
        dofs += range(first, first + count) if count else []
        body = int(model.body_parentid[body])
    return sorted(dofs)


def fill_addresses(model: mujoco.MjModel, dofs: list[int], address: np.ndarray) -> None:
    """Places of pairs of degrees of freedom in the sparse inertia matrix."""
    for i, row in enumerate(dofs):
        start, count = int(model.M_rowadr[row]), int(model.M_rownnz[row])
        columns = [int(c) for c in model.M_colind[start : start + count]]
        for j, column in enumerate(dofs[: i + 1]):
            if column in columns:
                address[i, j] = start + columns.index(column)
