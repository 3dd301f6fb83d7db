"""Bodies on the nodes of the soil grid as a law: what is alike for all stresses on a node.

The soil contact model and soil in columns are made of it. Which bodies of a robot may touch the
soil says `bodies`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from marsyard.errors import InputError, few
from marsyard.ground.soil import Soil
from marsyard.interaction.attachments import HERE, Attachment, Attachments
from marsyard.interaction.law import COARSE_SUM, PRESENT, Column, Recorded, Variable
from marsyard.interaction.place import Place
from marsyard.interaction.side_wall import blade_resistance
from marsyard.interaction.soft_ground import SoftGround
from marsyard.interaction.soil_contact.arrays import (
    SOIL_COLUMNS,
    WHEEL,
    Bodies,
    Patch,
    Soils,
    make_patch,
)
from marsyard.interaction.soil_contact.belt import Belts, bend, lay_belt, make_belts
from marsyard.interaction.soil_contact.bodies import (
    SoilBody,
    check_resolution,
    find_bodies,
    wheel_gap,
)
from marsyard.interaction.soil_contact.kernels import SoilArrays
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.interaction.soil_contact.state_check import check_contacts
from marsyard.interaction.soil_kernels import LEFT_THE_MAP, SUM_COLUMNS, T_NODES
from marsyard.interaction.soil_law import Flow, Pressing, SoilLaw, left_the_map
from marsyard.interaction.soil_records import STRESS_BINS, soil_variables, stress_angles
from marsyard.interaction.tread import softening, strength
from marsyard.robot import Robot
from marsyard.rotations import matrix_of
from marsyard.scenario.schema import Interaction, Scenario

#: soils without elastic unloading release their stress within p/this [Pa/m]
RIGID_UNLOADING = 1e9
#: nodes a body has room for, at least; also for slopes that wait for the next flow
FEWEST_ROOM = 4096
#: and at most; a body of 40 m on a spacing of 2 cm
MOST_ROOM = 4_000_000


class NodeLaw(SoilLaw):
    """Soil node by node under the bodies of a robot.

    Attributes:
        label: what acts, in words.
        arrays: a tuple with the fields of `SoilArrays`, perhaps more.
    """

    name = "soil"
    title = "Soil"
    shown = False
    label: str
    _flow: Flow | None

    def __init__(self, place: Place, ground: SoftGround) -> None:
        """On all bodies of the place but those of another law."""
        scenario, robot, model = place.scenario, place.robot, place.model
        shape = scenario.robot.wheel_shape
        found = [b for b in find_bodies(robot, model, shape) if b.body not in place.bodies]
        check_resolution(found, ground.grid.spacing)
        self.ground, self.grid, self.soils = ground.name, ground.grid, ground.soils
        self.found = found
        self.attachments = [_attachment(model, b) for b in found]
        options = scenario.interaction.options(SoilContactOptions)
        interaction, gravity = scenario.interaction, scenario.gravity
        self.arrays = self.with_own(
            _arrays(ground, robot, found, self.soil_numbers(interaction, gravity), options),
            interaction, gravity,
        )  # fmt: skip
        flows = bool(found) or ground.heaps or any(law.moves_soil for law in place.laws)
        self._flow = self.own_flow(ground, interaction, gravity) if flows else None
        if not found:
            # nothing to act on
            self.kernels = None

    # --- what a law of bodies on nodes gives

    @abstractmethod
    def soil_numbers(self, interaction: Interaction, gravity: float) -> Soils:
        """Numbers of the soils under every body."""

    def with_own(self, arrays: SoilArrays, interaction: Interaction, gravity: float) -> Any:
        """The arrays with those of the law itself."""
        return arrays

    @abstractmethod
    def own_flow(self, ground: SoftGround, interaction: Interaction, gravity: float) -> Flow:
        """Kernels and arrays with which displaced soil flows."""

    # --- as the engine sees it

    @property
    def names(self) -> tuple[str, ...]:
        """Of the bodies."""
        return tuple(a.name for a in self.attachments)

    @property
    def bodies(self) -> Bodies:
        """Shapes and poses of the bodies."""
        bodies: Bodies = self.arrays.bodies
        return bodies

    @property
    def patch(self) -> Patch:
        """Nodes under the bodies."""
        patch: Patch = self.arrays.patch
        return patch

    @property
    def belts(self) -> Belts:
        """Lower runs of tracks."""
        belts: Belts = self.arrays.belts
        return belts

    def attach(self, attached: Attachments) -> None:
        """Poses, velocities and forces are the engine's arrays."""
        bodies = self.bodies._replace(centre=attached.point, axis=attached.axis, twist=attached.V)
        patch = self.patch._replace(force=attached.F)
        self.arrays = self.arrays._replace(bodies=bodies, patch=patch)
        super().attach(attached)

    def flow(self) -> Flow | None:
        """Beside the bodies as they are attached now."""
        if self._flow is None:
            return None
        arrays = self._flow.arrays._replace(
            grid=self.grid.arrays, bodies=self.bodies, patch=self.patch
        )
        return self._flow._replace(arrays=arrays)

    def columns(self) -> tuple[Column, ...]:
        """Sums and state of the contact by body, mean forces around the wheels."""
        a = self.arrays
        return (
            Column("soil_sums", a.sums), Column("soil_total", a.patch.total, PRESENT),
            Column("stress_count", a.bin_count), Column("stress", a.bins, COARSE_SUM),
        )  # fmt: skip

    def coordinates(self) -> dict[str, Any]:
        """Angles around a wheel's axle."""
        return stress_angles()

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """See `soil_records`."""
        return soil_variables(self, seen, seen.columns["soil_sums"], seen.columns["soil_total"])

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
        """Mean forces by the angle around the axle."""
        count = np.maximum(columns["stress_count"], 1.0).astype(np.float32)
        return self.by_wheel(columns["stress"] / count[..., None, None], wheels)

    def change_soils(
        self, scenario: Scenario, robot: Robot, model: mujoco.MjModel, soils: tuple[Soil, ...]
    ) -> None:
        """Fill in the numbers of the soils."""
        self.soils = soils
        numbers = self.soil_numbers(scenario.interaction, scenario.gravity)
        for old, new in zip(self.arrays.soils, numbers, strict=True):
            old[...] = new

    def acted(self) -> list[tuple[str, float | str, str]]:
        """Under which bodies."""
        names = [name.removeprefix("wheel ") for name in self.names]
        return [(self.label, few(names, 8), "")] if names else []

    def placed(self) -> None:
        """Forget what was summed."""
        a = self.arrays
        for array in (a.sums, a.bins, a.bin_count, a.bodies.slip):
            array[:] = 0.0

    def gap(self, data: mujoco.MjData) -> tuple[float, str]:
        """Smallest height of the bodies' surfaces over the undisturbed terrain [m]."""
        gaps = (self._gap_of(b, a, data) for b, a in enumerate(self.attachments))
        return min(gaps, default=np.inf), "in soil"

    def _gap_of(self, b: int, attachment: Attachment, data: mujoco.MjData) -> float:
        body, terrain = attachment.body[0], self.grid.terrain
        if self.bodies.kind[b] == WHEEL:
            axis = data.xaxis[attachment.axle]
            return wheel_gap(self.bodies.shape[b], data.xpos[body], axis, terrain)
        first, last = self.bodies.triangles[b]
        local = self.bodies.triangle[first:last].reshape(-1, 3)
        frame = attachment.frame[0]
        points = local @ frame[3:].reshape(3, 3).T + frame[:3]
        points = points @ data.xmat[body].reshape(3, 3).T + data.xpos[body]
        return float(np.min(points[:, 2] - terrain.height(points[:, 0], points[:, 1])))

    def explain(self, status: int) -> str:
        """Why the soil stopped a run, in words."""
        if status == LEFT_THE_MAP and self.grid.terrain.bounds is not None:
            return left_the_map(self, self.bodies.centre)
        return (
            f"more than {self.patch.key.shape[2]} nodes of ground.{self.ground} under one "
            "body; is it deep inside the ground?"
        )

    # --- state

    def state(self) -> dict[str, np.ndarray]:
        """All that can change, for saving."""
        out, p = super().state(), self.patch
        for b in range(len(p.side)):
            now = int(p.side[b])
            n = int(p.listed[now, b])
            out[f"soil_contact_{b}_node"] = p.node[now, b, :n].copy()
            out[f"soil_contact_{b}_key"] = p.key[now, b, :n].copy()
            out[f"soil_contact_{b}_touching"] = p.touching[now, b, :n].copy()
            out[f"soil_contact_{b}_state"] = p.state[now, b, :n].copy()
        return out

    def kept(self) -> dict[str, np.ndarray]:
        """The part of the state whose shapes do not change."""
        a = self.arrays
        return {
            "soil_sums": a.sums, "soil_total": a.patch.total, "soil_bins": a.bins,
            "soil_bin_count": a.bin_count, "soil_evaluations": a.evaluations,
            "soil_belt_rise": a.belts.rise, "soil_cut": a.patch.cut, "soil_slip": a.bodies.slip,
            "soil_share": a.patch.share,
        }  # fmt: skip

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse a state of other bodies, or with indices that lead out of the arrays."""
        check_contacts(self, arrays)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        p = self.patch
        p.side[:] = 0
        # not known: the lists are compared, and made anew
        p.found[:] = -1
        p.candidates[:] = -1
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


def build_node_law(kind: type[NodeLaw], place: Place) -> NodeLaw:
    """A law of this kind on the soft ground of a place."""
    assert place.ground is not None
    try:
        return kind(place, place.ground)
    except InputError as error:
        raise InputError(f"ground.{place.ground.name}: {error}") from None


def soil_table(
    soils: tuple[Soil, ...],
    found: list[SoilBody],
    options: SoilContactOptions,
    gravity: float,
    exponent: bool,
) -> Soils:
    """What a law of bodies on nodes needs of soils whatever their stress; their exponent, if that
    counts, else 1."""
    table = np.zeros((len(soils), SOIL_COLUMNS))
    layer, released = np.zeros((2, len(found), len(soils)))
    mean = np.zeros((len(found), len(soils), 4))
    wall = np.zeros((len(found), len(soils), 2))
    for s, soil in enumerate(soils):
        along = across = options.stick
        if options.shear == "janosi":
            along = soil.number("shear_modulus")
            across = soil.number("shear_modulus_lateral")
        for b, body in enumerate(found):
            tread = body.tread if options.interface else None
            mean[b, s] = strength(soil, tread, along, across)
            if body.kind == WHEEL and options.side_walls:
                wall[b, s] = blade_resistance(soil, gravity)
        unloading = soil.unloading_stiffness or options.unloading_stiffness
        if options.unloading == "none":
            unloading = RIGID_UNLOADING
        table[s] = (
            soil.number("exponent") if exponent else 1.0, unloading,
            options.damping or soil.damping, math.tan(soil.number("repose_angle")),
            softening(soil, options.slip_sinkage) if exponent else 0.0,
            soil.exponent_slip if exponent and options.slip_sinkage == "exponent" else 0.0,
        )  # fmt: skip
        if options.slip_transport:
            layer[:, s] = [body.carried_layer(soil) for body in found]
            released[:, s] = [body.released(soil) for body in found]
    return Soils(table, np.zeros((len(found), len(soils))), layer, released, mean, wall)


def pressure_modulus(soil: Soil, width: float, form: str, gravity: float) -> float:
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


def _arrays(
    ground: SoftGround,
    robot: Robot,
    found: list[SoilBody],
    numbers: Soils,
    options: SoilContactOptions,
) -> SoilArrays:
    grid, n, f = ground.grid, len(found), np.zeros
    ends = np.cumsum([0, *(len(b.triangles) for b in found)])
    bodies = Bodies(
        kind=np.array([b.kind for b in found], dtype=np.int64),
        shape=np.array([b.shape for b in found], dtype=float).reshape(n, 5),
        reach=np.array([b.reach for b in found], dtype=float),
        triangles=np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64),
        triangle=np.concatenate([np.zeros((0, 9)), *(b.triangles for b in found)]),
        centre=f((n, 3)), axis=f((n, 3)), rotation=f((n, 9)), twist=f((n, 7)), slip=f((n, 2)),
    )  # fmt: skip
    room = max([FEWEST_ROOM, *(int((2 * b.reach / grid.spacing + 3) ** 2) for b in found)])
    if room > MOST_ROOM:
        large = max(found, key=lambda b: b.reach)
        raise InputError(
            f"{large.name} is {2 * large.reach:.3g} m long or wide, too large for a spacing of "
            f"{grid.spacing:g} m; is one of its dimensions wrong?"
        )
    belts = make_belts(n)
    for b, body in enumerate(found):
        if body.belt is not None:
            lay_belt(belts, b, body.belt)
    wheels = list(robot.wheels.values())
    on_soil = sum(b.wheel >= 0 for b in found)
    return SoilArrays(
        grid.arrays, numbers, bodies, make_patch(n, room), belts,
        wheel=np.array([b.wheel for b in found], dtype=np.int64),
        radius=np.array([wheels[b.wheel].radius if b.wheel >= 0 else 0.0 for b in found]),
        sums=f((n, SUM_COLUMNS)), bins=f((on_soil, STRESS_BINS, 3)), bin_count=f(1),
        bounds=ground.bounds, flows=np.array([int(options.flow)]), flow=ground.flow,
        evaluations=f(1, np.int64),
    )  # fmt: skip


def _attachment(model: mujoco.MjModel, body: SoilBody) -> Attachment:
    """A body and the soil: at the centre of the wheel, of the track's frame or of the geom."""
    here, at = HERE, (0.0, 0.0, 0.0)
    if body.geom >= 0:
        x, y, z = (float(v) for v in model.geom_pos[body.geom])
        turn = matrix_of(model.geom_quat[body.geom])
        here, at = np.concatenate([[x, y, z], turn.ravel()]), (x, y, z)
    made = Attachment(
        body.name, (body.body, 0), (here, HERE), at=at, axle=body.joint, wheel=body.wheel,
        organ=body.organ,
    )  # fmt: skip
    if body.belt is not None:
        made.joint, made.scale = model.joint(body.belt.joint).id, body.belt.pitch_radius
    return made
