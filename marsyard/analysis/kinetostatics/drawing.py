"""Kineto-static results as drawing data on the robot, independent of graphics.

`drawing_of` works out what is asked for (balance, polytope, ellipsoids, motions) unless it is
given, and lays it over the robot in its pose on its ground. `picture.draw_stance` makes a PNG of
it, `view.view_stance` shows it in the browser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from marsyard.analysis.kinetostatics import drawing_layers as draw
from marsyard.analysis.kinetostatics.balance import Balance, Forces
from marsyard.analysis.kinetostatics.ground_patches import ground_of
from marsyard.analysis.kinetostatics.mobility import mobility_of
from marsyard.analysis.kinetostatics.polytope import Polytope, wrench_polytope
from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.analysis.kinetostatics.summary import EXACT, FOUND
from marsyard.analysis.kinetostatics.transmission import By, Ellipsoid, ellipsoid, traction_index
from marsyard.analysis.kinetostatics.velocity import VelocityModel, velocity_model
from marsyard.drawing.layers import Layer
from marsyard.drawing.meshes import GroundMesh
from marsyard.errors import InputError, suggest
from marsyard.ground import Surface

if TYPE_CHECKING:
    from marsyard.control.placement import Ground
    from marsyard.results.movie.take import Take

#: everything that can be drawn, lowest first; what a picture shows unless told
THINGS = (
    "support", "polytope", "moments", "ellipsoid", "cones", "forces", "pull", "motions", "frames"
)  # fmt: skip
USUAL = ("support", "polytope", "ellipsoid", "cones", "forces", "pull")
#: lengths of the largest, in radii of the robot
_CONTACT, _PLATFORM, _ELLIPSOID = 0.5, 1.3, 0.9


@dataclass(frozen=True)
class Drawing:
    """A stance with its results, ready to be drawn.

    Attributes:
        title, numbers: what is written, the latter as pairs of name and value.
        table: name, load [N] and friction use of each contact.
        take: the robot in its pose on its ground; radius: of a ball around it [m].
        layers: by name of `THINGS`, lowest first.
    """

    title: str
    stance: Stance
    take: Take = field(repr=False)
    radius: float
    layers: dict[str, Layer] = field(repr=False)
    numbers: tuple[tuple[str, str], ...]
    table: tuple[tuple[str, float, float], ...]


def drawing_of(
    stance: Stance,
    friction: float | Mapping[str, float] = 0.6,
    torque: float | Mapping[str, float] | None = None,
    *,
    show: Sequence[str] = USUAL,
    ground: Ground | Sequence[GroundMesh | Surface] | None = None,
    title: str | None = None,
    forces: Forces | None = None,
    polytope: Polytope | None = None,
    model: VelocityModel | None = None,
    by: By = "torques",
    most: float = 1.0,
) -> Drawing:
    """What is drawn of a stance.

    Args:
        friction, torque: as of `Balance`. show: of `THINGS`.
        ground: what it stands on; as its contacts tell unless given.
        forces: those to draw; else a balance of least tangential forces, or, where friction is not
            enough, the one that takes least friction.
        polytope: of fx, fy, fz; worked out if not given, cut at `most` weights.
        model: of velocities, for ellipsoids and motions; worked out if not given, with the
            tolerance of a pose that was searched for where a ground is given.
        by: ellipsoid of unit torques or unit screws.
    """
    for name in show:
        if name not in THINGS:
            raise InputError(f"show: '{name}' cannot be drawn; {suggest(name, THINGS)}")
    from marsyard.results.movie.take import still

    base = int(stance.model.body(stance.platform).id)
    size = still(stance.model, stance.qpos, base).radius
    surfaces, meshes = ground_of(stance, size, ground)
    take = still(stance.model, stance.qpos, base, surfaces, meshes)
    balance = Balance(stance, friction, torque)
    if model is None:
        model = _velocity(stance, EXACT if ground is None else FOUND)
    work = _Work(stance, balance, size, forces, polytope, model, by, most)
    layers = {name: work.layer(name) for name in THINGS if name in show}
    return Drawing(
        title=title or f"{stance.robot.name} on {len(stance.contacts)} contacts",
        stance=stance,
        take=take,
        radius=size,
        layers={name: layer for name, layer in layers.items() if layer is not None},
        numbers=tuple(work.numbers()),
        table=tuple(work.table()),
    )  # fmt: skip


class _Work:
    """The results of one stance, as layers, numbers and a table."""

    def __init__(
        self, stance: Stance, balance: Balance, size: float, forces: Forces | None,
        polytope: Polytope | None, model: VelocityModel | None, by: By, most: float,
    ) -> None:  # fmt: skip
        self.stance, self.balance, self.size, self.by = stance, balance, size, by
        self.demand, least = balance.friction_demand()
        self.forces = forces or least  # the same as in tables
        self.model = model
        self.pulls = _pulls(balance)
        self.weight = stance.mass * float(np.linalg.norm(stance.gravity))
        self._polytope, self._most = polytope, most
        largest = self.weight / len(stance.contacts)
        if self.forces is not None:
            largest = float(np.linalg.norm(draw.contact_vectors(stance, self.forces), axis=1).max())
        self.contact_scale = draw.round_scale(largest, _CONTACT * size)

    def layer(self, name: str) -> Layer | None:
        """A thing of `THINGS`; None where there is nothing to draw."""
        return {
            "support": self._support, "polytope": self._polytope_layer, "moments": self._moments,
            "ellipsoid": self._ellipsoid, "cones": self._cones, "forces": self._force_layer,
            "pull": self._pull, "motions": self._motions, "frames": self._frames,
        }[name]()  # fmt: skip

    def _support(self) -> Layer:
        return draw.support_layer(self.stance, self.size)

    def _frames(self) -> Layer:
        return draw.frame_layer(self.stance, self.size)

    def _cones(self) -> Layer:
        n = len(self.stance.contacts)
        normal = np.zeros(n) if self.forces is None else self.forces.normal
        return draw.cone_layer(
            self.stance, self.balance.friction, normal, self.contact_scale, self.size
        )

    def _force_layer(self) -> Layer | None:
        if self.forces is None:
            return None
        return draw.force_layer(self.stance, self.forces, self.contact_scale, self.size)

    @property
    def polytope(self) -> Polytope:
        """Forces of the platform."""
        if self._polytope is None:
            self._polytope = wrench_polytope(self.balance, tolerance=1e-2, most=self._most)
        return self._polytope

    @property
    def platform_scale(self) -> float:
        """Newtons per metre of the polytope and the pulls."""
        sizes = [s for _, s in self.pulls.values() if math.isfinite(s)]
        if self._polytope is not None and not self._polytope.empty:
            sizes.append(float(np.linalg.norm(self._polytope.points, axis=1).max()))
        return draw.round_scale(max(sizes, default=self.weight), _PLATFORM * self.size)

    def _polytope_layer(self) -> Layer | None:
        if self.polytope.empty or len(self.polytope.axes) != 3:
            return None
        return draw.polytope_layer(self.stance, self.polytope, self.platform_scale, self.size)

    def _pull(self) -> Layer | None:
        found = draw.pull_layer(self.stance, self.pulls, self.platform_scale, self.size)
        return found if found.arrows else None

    @property
    def _unit(self) -> str:
        return "N per N·m" if self.by == "torques" else "N"

    def _one_ellipsoid(self, part: str) -> Ellipsoid | None:
        if self.model is None:
            return None
        found = ellipsoid(self.model, part, by=self.by)  # type: ignore[arg-type]
        return found if found.semi_axes[0] > 0 else None

    def _ellipsoid(self) -> Layer | None:
        return self._ellipsoid_layer("force", self._unit)

    def _moments(self) -> Layer | None:
        return self._ellipsoid_layer("moment", "N·m" + self._unit[1:])

    def _ellipsoid_layer(self, part: str, unit: str) -> Layer | None:
        found = self._one_ellipsoid(part)
        if found is None:
            return None
        scale = draw.round_scale(float(found.semi_axes[0]), _ELLIPSOID * self.size)
        return draw.ellipsoid_layer(self.stance, found, scale, self.size, part, unit)

    def _motions(self) -> Layer | None:
        if self.model is None:
            return None
        found = mobility_of(self.model)
        if not len(found.uncontrolled):
            return None
        return draw.motion_layer(
            self.stance, found.uncontrolled, found.uncontrolled_words, self.size
        )

    # --- in words

    def numbers(self) -> list[tuple[str, str]]:
        """Names and values."""
        mu = self.balance.friction
        same = np.ptp(mu) < 1e-12
        demand = f"{self.demand:.3g}" if math.isfinite(self.demand) else "no friction suffices"
        rows = [
            ("weight W", f"{draw.number(self.weight)} N"),
            ("friction μ", f"{mu[0]:g}" if same else f"{mu.min():g} to {mu.max():g}"),
            ("friction demand", demand),
        ]
        for name, (_, size) in self.pulls.items():
            rows.append((f"largest pull {name}", _force(size, self.weight)))
        if self.model is not None:
            rows.append(("traction index σ", f"{traction_index(self.model):.3g}"))
            found = self._one_ellipsoid("force")
            if found is not None:
                axes = " × ".join(draw.number(a) if a > 1e-6 else "0" for a in found.semi_axes)
                rows.append(("force ellipsoid", f"{axes} {self._unit}"))
        margin = draw.support_margin(self.stance)
        rows.append(("support margin", f"{draw.centimetres(margin)} cm"))
        return rows

    def table(self) -> list[tuple[str, float, float]]:
        """Name, normal load [N] and friction use of each contact."""
        if self.forces is None:
            return []
        rows = zip(self.stance.contacts, self.forces.normal, self.forces.use, strict=True)
        return [(name, float(n), float(u)) for name, n, u in rows]


def _velocity(stance: Stance, tolerance: float) -> VelocityModel | None:
    try:
        model = velocity_model(stance, tolerance=tolerance)
    except InputError:
        return None
    return model if len(model.D) else None


def _pulls(balance: Balance) -> dict[str, tuple[np.ndarray, float]]:
    """Largest level pulls of the platform, ahead and to its left: direction and size [N]."""
    up = balance.stance.up
    out = {}
    for name, axis, sign in (("ahead", 0, 1), ("back", 0, -1), ("left", 1, 1)):
        toward = sign * np.eye(3)[axis]
        toward = toward - (toward @ up) * up
        length = float(np.linalg.norm(toward))
        if length > 1e-6:
            out[name] = (toward / length, balance.largest(toward / length).size)
    return out


def _force(size: float, weight: float) -> str:
    if math.isnan(size):
        return "no equilibrium"
    if math.isinf(size):
        return "without limit"
    return f"{draw.number(size)} N ({size / weight:.2f} W)"
