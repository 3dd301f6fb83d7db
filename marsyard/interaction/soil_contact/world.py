"""From a scenario to soil: the soils' numbers, and the arrays of the law.

Which bodies of the robot may touch it says `bodies`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from marsyard.errors import InputError, few, suggest
from marsyard.ground.soil import Soil
from marsyard.ground.soil_grid import SoilGrid
from marsyard.interaction import about
from marsyard.interaction.attachments import HERE, Attachment, Attachments
from marsyard.interaction.law import COARSE_SUM, PRESENT, Column, Recorded, Variable
from marsyard.interaction.place import Place
from marsyard.interaction.soft_ground import SoftGround
from marsyard.interaction.soil_columns import about as columns_about
from marsyard.interaction.soil_columns.arrays import LAW_COLUMNS
from marsyard.interaction.soil_columns.numbers import (
    ColumnOptions,
    curve_rows,
    granular_row,
    law_row,
)
from marsyard.interaction.soil_columns.options import Columns
from marsyard.interaction.soil_contact import about as own_about
from marsyard.interaction.soil_contact.arrays import (
    BELT,
    LEFT_THE_MAP,
    MESH,
    MODEL,
    SOIL_COLUMNS,
    T_NODES,
    Bodies,
    Patch,
    Soils,
    make_patch,
)
from marsyard.interaction.soil_contact.belt import Belts, bend, lay_belt, make_belts
from marsyard.interaction.soil_contact.bodies import SoilBody, check_resolution, find_bodies
from marsyard.interaction.soil_contact.kernels import (
    FLOW_TIME,
    FLOWING,
    STRESS_BINS,
    SUM_COLUMNS,
    SoilArrays,
    kernels,
)
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.interaction.soil_contact.recording import (
    soil_variables,
    stress_angles,
    wheel_stress,
)
from marsyard.interaction.soil_contact.state_check import check_soil
from marsyard.interaction.soil_law import Pressing, SoilLaw
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel
from marsyard.interaction.wheel_models.on_terrain import WheelLaws, make_laws
from marsyard.interaction.wheel_models.options import WheelModelOptions
from marsyard.robot import Robot
from marsyard.robot import Wheel as RobotWheel
from marsyard.scenario.schema import Interaction, Scenario
from marsyard.scenario.soil import WheelLaw

#: laws of soil that act through the one of this file
_OWN = [law.name for law in (*own_about.LAWS, *columns_about.LAWS)]
#: soils without elastic unloading release their stress within p/this [Pa/m]
RIGID_UNLOADING = 1e9
#: nodes a body has room for, at least; also for slopes that wait for the next flow
FEWEST_ROOM = 4096
#: and at most; a body of 40 m on a spacing of 2 cm
MOST_ROOM = 4_000_000


class SoilContact(SoilLaw):
    """The soil contact model, soil in columns or wheel models under the bodies of a robot."""

    name = "soil"
    title = "Soil"
    kernels = kernels
    shown = False
    may_be_infinite = ("soil_travel",)
    may_be_unknown = ("soil_time",)

    def __init__(
        self,
        ground: str,
        grid: SoilGrid,
        soils: tuple[Soil, ...],
        arrays: SoilArrays,
        found: list[SoilBody],
        attachments: list[Attachment],
        shear_shares: Mapping[str, float],
    ) -> None:
        self.ground = ground
        self._shear_shares = shear_shares  # of wheels under a wheel model, by name
        self.found = found
        self.grid = grid
        self.soils = soils
        self.arrays = arrays
        self.attachments = attachments

    @property
    def names(self) -> tuple[str, ...]:
        """Of the bodies."""
        return tuple(a.name for a in self.attachments)

    @property
    def bodies(self) -> Bodies:
        """Shapes and poses of the bodies."""
        return self.arrays.bodies

    @property
    def patch(self) -> Patch:
        """Nodes under the bodies."""
        return self.arrays.patch

    @property
    def belts(self) -> Belts:
        """Lower runs of tracks."""
        return self.arrays.belts

    @property
    def wheel(self) -> np.ndarray:
        """Number of the wheel that a body is, or −1."""
        return self.arrays.wheel

    def attach(self, attached: Attachments) -> None:
        """Poses, velocities and forces are the engine's arrays."""
        bodies = self.bodies._replace(centre=attached.point, axis=attached.axis, twist=attached.V)
        patch = self.patch._replace(force=attached.F)
        self.arrays = self.arrays._replace(bodies=bodies, patch=patch)
        super().attach(attached)

    def make_room(self) -> None:
        """Make the tiles that the kernels asked for."""
        self.grid.fill_requests()

    def refresh(self) -> None:
        """Have the kernels use the grid's present arrays."""
        self.arrays = self.arrays._replace(grid=self.grid.arrays)
        if self.packed is not None:
            self.packed.replace(self.arrays)

    def columns(self) -> tuple[Column, ...]:
        """Sums and state of the contact by body, mean forces around the wheels."""
        a = self.arrays
        return (
            Column("soil_sums", a.sums), Column("soil_total", a.patch.total, PRESENT),
            Column("stress_count", a.bin_count), Column("stress", a.bins, COARSE_SUM),
        )  # fmt: skip

    def coordinates(self) -> dict[str, Any]:
        """Angles around a wheel's axle."""
        told = {"units": "rad", "long_name": "angle ahead of the lowest point"}
        return {"contact_angle": ("contact_angle", stress_angles(self.arrays.bins.shape[1]), told)}

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """See `recording`."""
        return soil_variables(self, seen)

    def touching(self) -> np.ndarray:
        """How many nodes of each body touch."""
        nodes: np.ndarray = self.patch.total[..., T_NODES]
        return nodes

    def touched(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The same at the records."""
        return columns["soil_total"][..., T_NODES]

    def pressing(self) -> Pressing:
        """Nodes in contact under every body."""
        shape, on_axle, p = self.bodies.shape, self.wheel >= 0, self.patch
        return Pressing(
            self.names,
            self.bodies.centre.copy(),
            np.where(on_axle[:, None], self.bodies.axis, 0.0),
            np.where(on_axle, shape[:, 0], self.bodies.reach),
            2 * shape[:, 1],
            tuple(p.field[b, : int(n)].copy() for b, n in enumerate(p.field_count)),
        )

    def wheel_stress(self, columns: Mapping[str, np.ndarray], wheels: int) -> np.ndarray:
        """See `recording`."""
        return wheel_stress(self, columns, wheels)

    def change_soils(
        self, scenario: Scenario, robot: Robot, model: mujoco.MjModel, soils: tuple[Soil, ...]
    ) -> None:
        """Fill in the numbers of the soils, and of wheel models on them."""
        interaction, gravity = scenario.interaction, scenario.gravity
        numbers = _soil_numbers(soils, self.found, interaction, gravity)
        for old, new in zip(self.arrays.soils, numbers, strict=True):
            old[...] = new
        if _wheel_model(interaction) is not None:
            weight = float(model.body_subtreemass[0]) * gravity
            laws = self.arrays.laws
            _wheel_laws(laws, robot, interaction, soils, gravity, weight, self.found)
        self.soils = soils

    def wheel_radii(self, name: str, wheel: RobotWheel, rolls: float) -> tuple[float, float]:
        """Wheel models carry with the rim, and know cones by their middle only."""
        if name in self._shear_shares:
            return wheel.radius + wheel.lug_height * self._shear_shares[name], wheel.radius
        return super().wheel_radii(name, wheel, rolls)

    def acted(self) -> list[tuple[str, float | str, str]]:
        """Which model acts under which bodies."""
        under: dict[str, list[str]] = {}
        numbers = {number: name for name, (number, *_) in MODELS.items()}
        of_soil = "granular columns" if self.grid.columns else "soil contact model"
        for name, kind, model in zip(
            self.names, self.bodies.kind, self.arrays.laws.model, strict=True
        ):
            law = f"wheel model {numbers[int(model)]}" if kind == MODEL else of_soil
            under.setdefault(law, []).append(name.removeprefix("wheel "))
        return [(law, few(names, 8), "") for law, names in under.items()]

    def placed(self) -> None:
        """Forget what was summed."""
        for array in (self.arrays.sums, self.arrays.bins, self.arrays.bin_count):
            array[:] = 0.0

    def gap(self, data: mujoco.MjData) -> tuple[float, str]:
        """Smallest height of the bodies' surfaces over the undisturbed terrain [m]."""
        gaps = (self._gap_of(b, a, data) for b, a in enumerate(self.attachments))
        return min(gaps, default=np.inf), "in soil"

    def _gap_of(self, b: int, attachment: Attachment, data: mujoco.MjData) -> float:
        body = attachment.body[0]
        if self.bodies.kind[b] in (MESH, BELT):
            first, last = self.bodies.triangles[b]
            local = self.bodies.triangle[first:last].reshape(-1, 3)
            frame = attachment.frame[0]
            points = local @ frame[3:].reshape(3, 3).T + frame[:3]
            points = points @ data.xmat[body].reshape(3, 3).T + data.xpos[body]
        else:
            radius, half, rounding, crown, taper = self.bodies.shape[b]
            axis = data.xaxis[attachment.axle]
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
            points = (data.xpos[body] + rim).reshape(-1, 3)
        return float(np.min(points[:, 2] - self.grid.terrain.height(points[:, 0], points[:, 1])))

    def explain(self, status: int) -> str:
        """Why the soil stopped a run, in words."""
        if status == LEFT_THE_MAP and self.grid.terrain.bounds is not None:
            xmin, xmax, ymin, ymax = self.grid.terrain.bounds
            x, y = self.bodies.centre[:, 0], self.bodies.centre[:, 1]
            b = int(np.argmin((xmin <= x) & (x <= xmax) & (ymin <= y) & (y <= ymax)))
            return (
                f"{self.names[b]} left the map at x = {x[b]:.3f}, y = {y[b]:.3f} m "
                f"(ground.{self.ground} ends at x {xmin:g} to {xmax:g}, y {ymin:g} to {ymax:g} m; "
                "set its 'outside' to flat to let it go on)"
            )
        return (
            f"more than {self.patch.key.shape[2]} nodes of ground.{self.ground} under one "
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
        return out | super().state()

    def kept(self) -> dict[str, np.ndarray]:
        """The part of the state whose shapes do not change; arrays of the law itself."""
        a = self.arrays
        due = {"soil_flow_due": a.numbers[FLOW_TIME : FLOWING + 1]} if self.grid.columns else {}
        return due | {
            "soil_sums": a.sums, "soil_total": a.patch.total, "soil_bins": a.bins,
            "soil_bin_count": a.bin_count, "soil_evaluations": a.evaluations,
            "soil_travel": a.travel, "soil_wheel_state": a.laws.state,
            "soil_belt_rise": a.belts.rise,
        }  # fmt: skip

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse a state of another soil, or with indices that lead out of the arrays."""
        check_soil(self, arrays)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        prefix = "soil_"
        names = ["tile", "top", "request", "ref", "depth", "flag", "time", "queue"]
        if self.grid.columns:
            names.append("column")
        self.grid.restore({name: state[prefix + name] for name in names})
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
        super().restore(state)
        for belt in np.flatnonzero(self.belts.nodes):
            bend(self.belts, self.bodies, int(belt))
        self.refresh()


def build_law(place: Place) -> SoilContact | None:
    """Soil under all bodies of the robot but those of another law."""
    scenario, robot, model, ground = place.scenario, place.robot, place.model, place.ground
    if ground is None:
        return None
    soil = scenario.interaction.soil.model
    if soil not in _OWN:
        if (wheel := _wheel_model(scenario.interaction)) is not None:
            raise InputError(
                f"interaction.wheel: the wheel model {wheel.model} does not go with "
                f"interaction.soil.model {soil}; use {' or '.join(_OWN)}"
            )
        return None
    shape = scenario.robot.wheel_shape
    try:
        found = [b for b in find_bodies(robot, model, shape) if b.body not in place.bodies]
        made = _assemble(scenario, robot, model, ground, found)
    except InputError as error:
        raise InputError(f"ground.{ground.name}: {error}") from None
    if ground.heaps:
        made.arrays.travel[0] = np.inf
    return made


def _assemble(
    scenario: Scenario,
    robot: Robot,
    model: mujoco.MjModel,
    ground: SoftGround,
    found: list[SoilBody],
) -> SoilContact:
    options = scenario.interaction.options(SoilContactOptions)
    grid, soils = ground.grid, ground.soils
    laws = make_laws(len(found), len(soils))
    wheel_model = _wheel_model(scenario.interaction)
    if wheel_model is not None:
        weight = float(model.body_subtreemass[0]) * scenario.gravity
        found = _modelled(robot, wheel_model, found)
        _wheel_laws(laws, robot, scenario.interaction, soils, scenario.gravity, weight, found)
    check_resolution(found, grid.spacing)
    n = len(found)
    numbers = _soil_numbers(soils, found, scenario.interaction, scenario.gravity)
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
    for b, body in enumerate(found):
        if body.belt is not None:
            lay_belt(belts, b, body.belt)
    bounds = (-np.inf, np.inf, -np.inf, np.inf)
    if grid.terrain.bounds is not None and grid.outside == "stop":
        bounds = grid.terrain.bounds
    wheels = list(robot.wheels.values())
    on_soil = sum(b.wheel >= 0 for b in found)
    arrays = SoilArrays(
        grid.arrays, numbers, bodies, patch, laws, belts,
        wheel=np.array([b.wheel for b in found], dtype=np.int64),
        radius=np.array([wheels[b.wheel].radius if b.wheel >= 0 else 0.0 for b in found]),
        sums=f((n, SUM_COLUMNS)), bins=f((on_soil, STRESS_BINS, 3)), bin_count=f(1),
        numbers=np.array(
            [options.flow, options.deposit_exponent, *bounds,
             *_column_numbers(scenario.interaction, grid.spacing, scenario.gravity),
             options.flow_travel * grid.spacing, 0, 0],
            dtype=float,
        ),
        travel=f(1), evaluations=f(1, np.int64),
    )  # fmt: skip
    attachments = [_attachment(model, b) for b in found]
    shares = _shear_shares(robot, scenario.interaction)
    return SoilContact(ground.name, grid, soils, arrays, found, attachments, shares)


def _wheel_model(interaction: Interaction) -> WheelLaw | None:
    """The wheel model of a scenario, if it is one of those that act through this law."""
    wheel = interaction.wheel
    return wheel if wheel is not None and wheel.model in MODELS else None


def _shear_shares(robot: Robot, interaction: Interaction) -> dict[str, float]:
    """`shear_share` of every wheel that has a wheel model, by name."""
    model = _wheel_model(interaction)
    if model is None:
        return {}
    names = model.wheels
    share = interaction.options(WheelModelOptions).shear_share
    return {name: share for name in robot.wheels if names is None or name in names}


def _modelled(robot: Robot, law: WheelLaw, found: list[SoilBody]) -> list[SoilBody]:
    """The bodies with those wheels marked that have a wheel model."""
    names = list(robot.wheels)
    for name in law.wheels or ():
        if name not in names:
            raise InputError(
                f"interaction.wheel.wheels: '{name}' is no wheel of {robot.name}; "
                f"{suggest(name, names)}"
            )
    chosen = names if law.wheels is None else law.wheels
    return [
        replace(b, kind=MODEL) if b.wheel >= 0 and names[b.wheel] in chosen else b for b in found
    ]


def _attachment(model: mujoco.MjModel, body: SoilBody) -> Attachment:
    """A body and the soil: at the centre of the wheel, of the track's frame or of the geom."""
    here, at = HERE, (0.0, 0.0, 0.0)
    if body.geom >= 0:
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.geom_quat[body.geom])
        x, y, z = (float(v) for v in model.geom_pos[body.geom])
        here, at = np.concatenate([[x, y, z], turn]), (x, y, z)
    made = Attachment(
        body.name, (body.body, 0), (here, HERE), at=at, axle=body.joint, wheel=body.wheel,
        organ=body.organ,
    )  # fmt: skip
    if body.belt is not None:
        made.joint, made.scale = model.joint(body.belt.joint).id, body.belt.pitch_radius
    return made


# --- soils


def _soil_numbers(
    soils: tuple[Soil, ...], bodies: list[SoilBody], interaction: Interaction, gravity: float
) -> Soils:
    options = interaction.options(SoilContactOptions)
    columns = _in_columns(interaction)
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
        return Soils(table, modulus, layer, *_column_laws(soils, bodies, interaction, gravity))
    return Soils(table, modulus, layer)


def _column_laws(
    soils: tuple[Soil, ...], bodies: list[SoilBody], interaction: Interaction, gravity: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of soil in columns: by body and soil, measured curves, of the surface."""
    options, own = interaction.options(SoilContactOptions), interaction.options(Columns)
    needed = {
        "bekker": ("exponent", "k_c", "k_phi"),
        "reece": ("exponent", "density", "reece_kc", "reece_kphi"),
    }[options.pressure]
    numbers = ColumnOptions(
        _soil_gravity(own, gravity), own.influence, own.depth, own.match_sinkage, own.rest,
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


def _in_columns(interaction: Interaction) -> bool:
    return about.laws(about.SOIL)[interaction.soil.model].columns


def _soil_gravity(own: Columns, gravity: float) -> float:
    g = own.gravity or gravity
    if not g > 0:
        raise InputError(
            "interaction.soil.columns.gravity: is required where the scenario's gravity is 0, for "
            "columns carry and flow by their weight; e.g. 9.81"
        )
    return g


def _column_numbers(interaction: Interaction, spacing: float, gravity: float) -> tuple[float, ...]:
    """The fields of `Options` for soil in columns, and the longest time between two flows [s]."""
    if not _in_columns(interaction):
        return 0, 1.0, 0.0, 1.0, 0, math.inf
    own = interaction.options(Columns)
    g = _soil_gravity(own, gravity)
    # matter crosses no more than a quarter of a column in a step: its speed is at most ½ g/ν
    chunk = min(0.5 * spacing * own.viscosity / g, 0.25 / own.viscosity)
    return 1, chunk, g, own.viscosity, own.planar, chunk


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
    found: list[SoilBody],
) -> None:
    """Fill in the wheel model of every wheel that has one.

    Ding's mean load W̄ is, unless law or soil give it, the robot's weight [N] by its wheels.
    """
    law = interaction.options(WheelModelOptions)
    model = interaction.wheel.model if interaction.wheel is not None else ""
    mean = {}
    if model == "ding" and weight > 0 and robot.wheels:
        mean = {"mean_load": weight / len(robot.wheels)}
    wheels = list(robot.wheels.items())
    for b, body in enumerate(found):
        if body.kind != MODEL:
            continue
        name, w = wheels[body.wheel]
        rule = law.exit or w.exit
        if rule is None and model == "rigid_slip":
            rule = Exit("angle", 0.0)  # no soil: it asks for none
        if rule is None:
            raise InputError(
                f"interaction.wheel.exit: wheel {name} of the robot has no exit rule of its own; "
                "give one, e.g. {rule: height, value: 0.9}"
            )
        wheel = Wheel(w.radius, w.width, rule, w.lug_height, law.shear_share, law.lug_share)
        laws.model[b] = MODELS[model][0]
        laws.wheel[b] = wheel.numbers()
        for s, soil in enumerate(soils):
            own_mean = {} if "mean_load" in soil.extra else mean
            made = WheelModel(model, wheel, soil, {**own_mean, **law.coefficients}, gravity)
            own = made.own_numbers()
            laws.own[b, s, : len(own)] = own
            laws.soil[b, s] = made.soil_numbers()
        laws.option[b] = law.damping_ratio, max(gravity, 0.1), float(law.rut)
    own_soil = interaction.options(SoilContactOptions)
    for s, soil in enumerate(soils):
        laws.unloading[s] = soil.unloading_stiffness or own_soil.unloading_stiffness
