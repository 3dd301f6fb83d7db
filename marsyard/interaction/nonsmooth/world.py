"""From a scenario to nonsmooth contact: shapes of the robot, friction of the ground's surfaces.

Every world has it, since robots are placed on the ground as on a rigid one under other laws, too;
in a run it acts where the scenario says so, and between bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mujoco
import numpy as np

from marsyard.interaction.about import law_of_hard_ground
from marsyard.interaction.contact_geometry.callbacks import geometry_aside
from marsyard.interaction.contact_geometry.organs import organ_of_bodies
from marsyard.interaction.hard_ground import by_surface
from marsyard.interaction.law import Law
from marsyard.interaction.nonsmooth.kernels import ContactArrays, kernels
from marsyard.interaction.place import Place
from marsyard.interaction.rows import no_bodies, no_meetings, no_rows

#: features of the ground near a shape that are looked at together
_NEAR = 8


class NonsmoothContact(Law):
    """Everything of a robot that may touch hard ground, or another body."""

    name = "nonsmooth"
    title = "Nonsmooth contact"
    kernels = kernels
    shown = False
    passive = True
    places = True
    has_friction = True

    def __init__(
        self, arrays: ContactArrays, most: int, surfaces: tuple[str, ...], collides: bool
    ) -> None:
        """`surfaces` that are hard, by name; `collides`: bodies meet each other."""
        self.arrays = arrays
        self.attachments = []
        self.most_rows, self._surfaces, self._collides = most, surfaces, collides
        self.acts, self.ties_to_world = bool(surfaces) or collides, bool(surfaces)
        self._own = tuple(array.copy() for array in self._numbers())

    def _numbers(self) -> tuple[np.ndarray, ...]:
        a = self.arrays
        return a.friction, a.restitution, a.restitution_tangential, a.rolling, a.spinning

    @property
    def friction(self) -> np.ndarray:
        """Coulomb's coefficient on each surface, and between bodies; live."""
        return self.arrays.friction

    def acted(self) -> list[tuple[str, float | str, str]]:
        """Friction and restitution of every surface, and between bodies."""
        names = ("friction μ", "restitution", "tangential restitution", "rolling friction",
                 "spinning friction")  # fmt: skip
        units = ("", "", "", "m", "m")
        told: list[tuple[str, float | str, str]] = []
        for k, place in enumerate((*(f"on {s}" for s in self._surfaces), "between bodies")):
            if place == "between bodies" and not self._collides:
                continue
            for name, unit, values in zip(names, units, self._own, strict=True):
                if values[k] != 0.0 or name in names[:2]:
                    told.append((f"{name} {place}", float(values[k]), unit))
        return told

    @contextmanager
    def on_rigid_ground(self) -> Iterator[None]:
        """Hard ground is felt for a while, whatever law the scenario has for it."""
        before = int(self.arrays.hard[0])
        self.arrays.hard[0] = 1
        try:
            yield
        finally:
            self.arrays.hard[0] = before

    def start(self) -> None:
        """Begin to compile the geometry, too."""
        geometry_aside.start()
        super().start()

    def calls(self) -> tuple[int, ...]:
        """With the address of the contact geometry, which the kernel calls."""
        self.arrays.finder[0] = geometry_aside.addresses()[0]
        return super().calls()

    def set_friction(self, friction: np.ndarray) -> None:
        """On each surface, and between bodies."""
        self._own[0][:] = self.arrays.friction[:] = friction

    def ease(self, friction: float | None) -> None:
        """Nothing bounces, and nothing resists rolling."""
        mu, *others = self._numbers()
        for array in others:
            array[:] = 0.0
        if friction is not None:
            mu[:] = friction

    def placed(self) -> None:
        """The law's own numbers again."""
        for array, own in zip(self._numbers(), self._own, strict=True):
            array[:] = own


def build_law(place: Place) -> NonsmoothContact:
    """Rigid contact of all bodies but those of another law with the ground."""
    m, robot, hard = place.model, place.robot, place.hard
    law, wheels, f, i = law_of_hard_ground(place.scenario), hard.wheels, np.zeros, np.int64
    surfaces = hard.surfaces

    def numbers(field: str) -> np.ndarray:
        return by_surface(place.scenario, surfaces, field)

    rolling, spinning = numbers("rolling_friction"), numbers("spinning_friction")
    surface = {f"ground:{each.name}": k for k, each in enumerate(surfaces)}
    names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, g) for g in range(m.ngeom)]
    arrays = ContactArrays(
        rows=no_rows(), bodies=no_bodies(), meetings=no_meetings(), wheels=wheels,
        ground=hard.table, finder=f(1, i),
        false_edges=np.array([getattr(s, "edge_normal", None) is not None for s in surfaces], i),
        hard=np.array([law.gives_rows or law.is_mujocos], dtype=i),
        friction=numbers("friction"), restitution=numbers("restitution"),
        restitution_tangential=numbers("restitution_tangential"), rolling=rolling,
        spinning=spinning, geom_body=m.geom_bodyid.astype(i),
        geom_surface=np.array([surface.get(name or "", -1) for name in names], dtype=i),
        organ=organ_of_bodies(robot, m),
        meets_ground=np.array([b not in place.bodies for b in range(m.nbody)], dtype=i),
        near_point=f((_NEAR, 3)), near_normal=f((_NEAR, 3)), near_gap=f(_NEAR),
        near_surface=f(_NEAR, i), near_feature=f(_NEAR, i), near_count=f(1, i), place=f((2, 3)),
    )  # fmt: skip
    couples = bool(rolling.any() or spinning.any())
    collides = (m.geom_contype | m.geom_conaffinity) != 0
    colliding = len(np.unique(m.geom_bodyid[collides & (arrays.geom_surface < 0)]))
    most = 8 * (len(wheels.body) + len(wheels.shapes.body) + 1) + 4 * len(wheels.parts.body)
    if colliding:
        # room for every colliding shape to touch a few others, within reason for the memory
        most += min(2048, 64 + 16 * int(np.count_nonzero(collides)))
    hard_ones = tuple(each.name for each in surfaces) if law.gives_rows else ()
    return NonsmoothContact(
        arrays, 3 * most if couples else most, hard_ones, law.bodies_collide and colliding > 1
    )
