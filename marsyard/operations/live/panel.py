"""Settings of each viewer: camera, a wheel and its numbers, two plots.

Choices come in threads of viser's; they only note what is to be shown, and the one thread that
draws shows it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.colours import wheel_colour
from marsyard.results.scene_parts import few

if TYPE_CHECKING:
    from marsyard.operations.live.view import LiveView

CAMERAS = ("free", "follow the robot", "from above", "close-up of a wheel")
NOTHING = "nothing"
FIRST_PLOTS = ("slip_ratio", "drawbar_pull", "sinkage", "velocity_base", "position_base")
MOST_LINES = 8
#: what is told of a wheel, and in which words
TOLD = {
    "wheel_load": "load", "contact_force x": "force x", "contact_force y": "force y",
    "contact_force z": "force z", "drawbar_pull": "drawbar pull", "slip_ratio": "slip ratio",
    "slip_angle": "slip angle", "sinkage": "sinkage", "motor_torque": "motor torque",
    "motor_power": "motor power", "wheel_rate": "rate", "pressure_max": "largest pressure",
    "contact_point x": "contact x", "contact_point y": "contact y", "contact_point z": "contact z",
}  # fmt: skip
_COLOURS = ("#c25a2b", "#2b5fc0", "#2f8f4e", "#8a4fb0", "#b8860b", "#c03a5b", "#3a9aa8", "#666666")


class Panel:
    """The part of the panel that belongs to one viewer."""

    def __init__(self, client: Any, view: LiveView) -> None:
        self._client, self._view = client, view
        gui = client.gui
        self._camera = gui.add_dropdown("camera", CAMERAS, initial_value=CAMERAS[0])
        self._camera.on_update(lambda _: self._place_camera())
        self._folders = [gui.add_folder(f"Plot {k + 1}") for k in range(2)]
        self._wheel: Any = None
        if view.wheels:
            self._make_wheel(gui)
        self._choices: list[Any] = [None, None]
        self._plots: list[Any] = [None, None]
        self._made: list[str] = [NOTHING, NOTHING]
        self.dirty = True  # something was chosen that is not shown yet

    def _make_wheel(self, gui: Any) -> None:
        with gui.add_folder("Wheel"):
            hint = "or click on a wheel in the scene"
            self._wheel = gui.add_dropdown("wheel", self._view.wheels, hint=hint)
            self._numbers = gui.add_markdown("")

        def chosen(_: Any) -> None:
            self.dirty = True
            if self._camera.value == CAMERAS[3]:
                self._place_camera()

        self._wheel.on_update(chosen)

    def pick(self, wheel: str) -> None:
        """Choose a wheel."""
        if self._wheel is not None:
            self._wheel.value = wheel

    # --- numbers

    def refresh(self) -> None:
        """Show the newest numbers."""
        self.dirty = False
        self._show_wheel()
        for k in range(2):
            self._show_plot(k)

    def _show_wheel(self) -> None:
        if self._wheel is None or not self._view.numbers.newest:
            return
        known = self._view.numbers.of_wheel(self._wheel.value)
        lines = []
        for name, words in TOLD.items():
            value, units = known.get(name, (np.nan, ""))
            if np.isfinite(value):
                lines.append(f"| {words} | {value:.4g} {'' if units == '1' else units} |")
        self._numbers.content = "\n".join(["| | |", "| --- | --- |", *lines])

    def _show_plot(self, k: int) -> None:
        numbers = self._view.numbers
        if not numbers.quantities:
            return
        if self._choices[k] is None:
            self._make_choice(k)
        name = self._choices[k].value
        if name != self._made[k]:
            self._make_plot(k, name)
        if self._plots[k] is not None:
            self._plots[k].data = self._data(name)

    def _make_choice(self, k: int) -> None:
        names = tuple(sorted(self._view.numbers.quantities))
        usual = [name for name in FIRST_PLOTS if name in names]
        with self._folders[k]:
            self._choices[k] = self._client.gui.add_dropdown(
                "quantity", (NOTHING, *names), initial_value=usual[k] if k < len(usual) else NOTHING
            )

        def chosen(_: Any) -> None:
            self.dirty = True

        self._choices[k].on_update(chosen)

    def _make_plot(self, k: int, name: str) -> None:
        self._made[k] = name
        if self._plots[k] is not None:
            self._plots[k].remove()
            self._plots[k] = None
        if name == NOTHING:
            return
        quantity = self._view.numbers.quantities[name]
        lines = quantity.lines[:MOST_LINES]
        with self._folders[k]:
            self._plots[k] = self._client.gui.add_uplot(
                data=self._data(name),
                series=(
                    {"label": "t"},
                    *(
                        {"label": line or name, "stroke": self._colour(line, n), "width": 1.5}
                        for n, line in enumerate(lines)
                    ),
                ),
                scales={"x": {"time": False}},
                title=quantity.title,
                legend={"show": len(lines) > 1},
                height=150 + 12 * len(lines),
            )

    def _data(self, name: str) -> tuple[np.ndarray, ...]:
        history = self._view.numbers.history
        rows = few(history.count)
        values = history.values(name)[rows].astype(float)
        return (history.time[rows].copy(), *(column.copy() for column in values.T[:MOST_LINES]))

    def _colour(self, line: str, number: int) -> str:
        wheel = line.split(" ")[0]
        if wheel in self._view.wheels:
            return wheel_colour(wheel, self._view.wheels.index(wheel))
        return _COLOURS[number % len(_COLOURS)]

    # --- camera

    def follow(self) -> None:
        """Keep what is looked at where it is in the picture; the viewer turns around it."""
        if self._camera.value == CAMERAS[0]:
            return
        with contextlib.suppress(AssertionError, ValueError):
            camera = self._client.camera
            target = self._target()
            away = np.asarray(camera.position) - np.asarray(camera.look_at)
            if np.linalg.norm(np.asarray(camera.look_at) - target) > 1e-4:
                camera.position = target + away
                camera.look_at = target

    def _target(self) -> np.ndarray:
        if self._camera.value == CAMERAS[3] and self._wheel is not None:
            return self._view.wheel_centre(self._wheel.value)
        return self._view.base

    def _place_camera(self) -> None:
        choice, size = self._camera.value, max(self._view.size, 0.3)
        away = {
            CAMERAS[1]: size * np.array([-1.9, -2.1, 1.25]),
            CAMERAS[2]: size * np.array([-0.02, 0.0, 4.0]),
        }.get(choice)
        if choice == CAMERAS[3] and self._wheel is not None:
            centre = self._view.wheel_centre(self._wheel.value)
            outward = 1.0 if centre[1] >= self._view.base[1] else -1.0
            away = self._view.wheel_radius(self._wheel.value) * np.array([-2.5, 6 * outward, 2.5])
        if away is None:
            return
        with contextlib.suppress(AssertionError, ValueError):
            target = self._target()
            self._client.camera.position = target + away
            self._client.camera.look_at = target
