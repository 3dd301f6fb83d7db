"""The wheel models in a world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from marsyard.errors import InputError, few
from marsyard.ground.soil import Soil
from marsyard.interaction.attachments import Attachment, Attachments
from marsyard.interaction.law import PRESENT, Column, Recorded, Variable
from marsyard.interaction.place import Place
from marsyard.interaction.soft_ground import SoftGround
from marsyard.interaction.soil_contact.bodies import SoilBody, find_wheels, wheel_gap
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.interaction.soil_kernels import (
    LEFT_THE_MAP,
    SUM_COLUMNS,
    T_NODES,
    TOTAL_COLUMNS,
)
from marsyard.interaction.soil_law import Pressing, SoilLaw, left_the_map
from marsyard.interaction.soil_records import soil_variables, stress_angles
from marsyard.interaction.wheel_models.kernels import kernels
from marsyard.interaction.wheel_models.model import MODELS, WheelModel
from marsyard.interaction.wheel_models.numbers import ANSWERS, SOIL_NUMBERS, WHEEL_NUMBERS
from marsyard.interaction.wheel_models.on_terrain import (
    OPTION_COLUMNS,
    OWN_COLUMNS,
    STATE_COLUMNS,
    WheelArrays,
)
from marsyard.interaction.wheel_models.options import WheelModelOptions
from marsyard.interaction.wheel_models.wheel import Wheel
from marsyard.robot import Robot
from marsyard.robot import Wheel as RobotWheel
from marsyard.scenario.schema import Scenario
from marsyard.scenario.soil import WheelLaw


class WheelModels(SoilLaw):
    """A wheel model under wheels of a robot."""

    name = "wheel_model"
    title = "Wheel model"
    kernels = kernels
    shown = False
    moves_soil = False  # ruts and berms stand as they are made

    def __init__(self, place: Place, ground: SoftGround, model: str) -> None:
        """On the wheels of the place."""
        scenario, robot = place.scenario, place.robot
        self.model, self.ground, self.grid = model, ground.name, ground.grid
        self.soils = ground.soils
        found = find_wheels(robot, place.model, scenario.robot.wheel_shape)
        self.found = [b for b in found if b.body in place.bodies]
        self.attachments = [
            Attachment(b.name, (b.body, 0), axle=b.joint, wheel=b.wheel) for b in self.found
        ]
        self._shear_share = scenario.interaction.options(WheelModelOptions).shear_share
        self.arrays = _room_for(self.found, robot, ground)
        self._fill_in(scenario, robot, place.model)

    def _fill_in(self, scenario: Scenario, robot: Robot, model: mujoco.MjModel) -> None:
        """The numbers of the wheels, of the soils and of the model.

        Ding's mean load W̄ is, unless law or soil give it, the robot's weight [N] by its wheels.
        """
        a, gravity = self.arrays, scenario.gravity
        law = scenario.interaction.options(WheelModelOptions)
        weight = float(model.body_subtreemass[0]) * gravity
        mean = {"mean_load": weight / len(robot.wheels)} if self.model == "ding" and weight else {}
        shared = scenario.interaction.options(SoilContactOptions)
        own: dict[str, Any] = {"shear_share": law.shear_share, "lug_share": law.lug_share}
        if not shared.interface:
            own["surface"] = None
        for b, body in enumerate(self.found):
            wheel = Wheel.of(_named(robot, body), law.exit, **own)
            a.wheel[b] = wheel.numbers()
            for s, soil in enumerate(self.soils):
                own_mean = {} if "mean_load" in soil.extra else mean
                made = WheelModel(
                    self.model, wheel, soil, {**own_mean, **law.coefficients}, gravity,
                    shared.unloading_stiffness, shared.slip_sinkage, shared.slip_transport,
                    law.bulldozing,
                )  # fmt: skip
                numbers = made.own_numbers()
                a.own[b, s, : len(numbers)] = numbers
                a.soil[b, s] = made.soil_numbers()
            berms = float(law.rut and shared.flow)
            a.option[b] = law.damping_ratio, max(gravity, 0.1), float(law.rut), berms
        a.model[:] = MODELS[self.model][0]
        for s, soil in enumerate(self.soils):
            a.unloading[s] = soil.unloading_stiffness or shared.unloading_stiffness

    # --- as the engine sees it

    def attach(self, attached: Attachments) -> None:
        """Centres and axles are the engine's arrays."""
        self._centre, self._axis = attached.point, attached.axis
        super().attach(attached)

    def columns(self) -> tuple[Column, ...]:
        """Sums and state of the contact by wheel."""
        a = self.arrays
        total = Column("wheel_model_total", a.total, PRESENT)
        return (Column("wheel_model_sums", a.sums), total)

    def coordinates(self) -> dict[str, Any]:
        """Angles around a wheel's axle."""
        return stress_angles()

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """See `soil_records`."""
        columns = seen.columns
        sums, total = columns["wheel_model_sums"], columns["wheel_model_total"]
        return soil_variables(self, seen, sums, total)

    def touching(self) -> np.ndarray:
        """1 for each wheel that touches."""
        touches: np.ndarray = self.arrays.total[..., T_NODES]
        return touches

    def touched(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The same at the records."""
        return columns["wheel_model_total"][..., T_NODES]

    def pressing(self) -> Pressing:
        """The wheels, without stresses."""
        shapes = np.array([b.shape for b in self.found], dtype=float).reshape(-1, 5)
        return Pressing(
            tuple(b.name for b in self.found), self._centre.copy(), self._axis.copy(),
            shapes[:, 0], 2 * shapes[:, 1], tuple(np.zeros((0, 7)) for _ in self.found),
        )  # fmt: skip

    def change_soils(
        self, scenario: Scenario, robot: Robot, model: mujoco.MjModel, soils: tuple[Soil, ...]
    ) -> None:
        """Fill in the numbers of the soils, and of the model on them."""
        self.soils = soils
        self._fill_in(scenario, robot, model)

    def wheel_radii(self, name: str, wheel: RobotWheel, rolls: float) -> tuple[float, float]:
        """Wheel models carry with the rim, and know cones by their middle only."""
        return wheel.radius + wheel.lug_height * self._shear_share, wheel.radius

    def acted(self) -> list[tuple[str, float | str, str]]:
        """Which model under which wheels."""
        names = [b.name.removeprefix("wheel ") for b in self.found]
        return [(f"wheel model {self.model}", few(names, 8), "")]

    def placed(self) -> None:
        """Forget what was summed."""
        self.arrays.sums[:] = 0.0

    def gap(self, data: mujoco.MjData) -> tuple[float, str]:
        """Smallest height of the wheels' surfaces over the undisturbed terrain [m]."""
        gaps = (
            wheel_gap(b.shape, data.xpos[b.body], data.xaxis[b.joint], self.grid.terrain)
            for b in self.found
        )
        return min(gaps, default=np.inf), "in soil"

    def explain(self, status: int) -> str:
        """Why the soil stopped a run, in words."""
        if status == LEFT_THE_MAP:
            return left_the_map(self, self._centre)
        return super().explain(status)

    def kept(self) -> dict[str, np.ndarray]:
        """Slips and ruts, sums, totals."""
        a = self.arrays
        return {
            "wheel_model_state": a.state, "wheel_model_total": a.total, "wheel_model_sums": a.sums,
        }  # fmt: skip


def _room_for(found: list[SoilBody], robot: Robot, ground: SoftGround) -> WheelArrays:
    f, b, s = np.zeros, len(found), len(ground.soils)
    return WheelArrays(
        ground.grid.arrays, model=f(b, np.int64), wheel=f((b, WHEEL_NUMBERS)),
        soil=f((b, s, SOIL_NUMBERS)), own=f((b, s, OWN_COLUMNS)), option=f((b, OPTION_COLUMNS)),
        unloading=f(s), radius=np.array([_named(robot, body).radius for body in found]),
        reach=np.array([body.reach for body in found]), bounds=ground.bounds, flow=ground.flow,
        state=f((b, STATE_COLUMNS)), next=f((b, STATE_COLUMNS + 1)), total=f((b, TOTAL_COLUMNS)),
        sums=f((b, SUM_COLUMNS)), stiff=f((b, 10)), ground=f(SOIL_NUMBERS), answer=f((2, ANSWERS)),
    )  # fmt: skip


def _named(robot: Robot, body: SoilBody) -> RobotWheel:
    """The robot's wheel that a body is."""
    return list(robot.wheels.values())[body.wheel]


def build_law(place: Place) -> WheelModels | None:
    """A wheel model under its wheels, on soft ground."""
    wheel: WheelLaw | None = place.scenario.interaction.wheel
    if place.ground is None or wheel is None or wheel.model not in MODELS or not place.bodies:
        return None
    try:
        return WheelModels(place, place.ground, wheel.model)
    except InputError as error:
        raise InputError(f"ground.{place.ground.name}: {error}") from None
