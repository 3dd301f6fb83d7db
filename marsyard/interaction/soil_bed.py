"""The soil bed: soft ground as a law of its own, which acts on no body.

It keeps the state of the grid that soil models share, and lets displaced soil flow once a step,
however many laws have displaced it: with the kernels of the law that says how (`SoilLaw.flow`).
Where nothing displaces soil there is nothing to flow, and no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil_grid import KEPT_COLUMNS
from marsyard.ground.soil_nodes import HALF, NODES
from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import Law, check_range, must_fit, refuse
from marsyard.interaction.soft_ground import SoftGround
from marsyard.interaction.soil_law import SoilLaw

#: a value for each node of the grid's tiles
_BY_NODE = ("ref", "depth", "flag", "time", "relief")
_BY_TILE = ("tile", "top", "request", "queue")


class SoilBed(Law):
    """The ground that soil models act on."""

    name = "soil_bed"
    passive = True
    on_soil = True
    shown = False
    may_be_infinite = ("soil_flow",)
    may_be_unknown = ("soil_time",)

    def __init__(self, ground: SoftGround, laws: Sequence[SoilLaw]) -> None:
        self.ground, self.attachments = ground, []
        self._laws = laws
        self._flowing = next((law for law in laws if law.flow() is not None), None)
        flow = None if self._flowing is None else self._flowing.flow()
        self.kernels = None if flow is None else flow.kernels

    @property
    def soil_laws(self) -> tuple[SoilLaw, ...]:
        """The soil models that act on it."""
        return tuple(self._laws)

    def attach(self, attached: Attachments) -> None:
        """The bodies beside which soil is laid down are those of the law that has moved it."""
        flow = None if self._flowing is None else self._flowing.flow()
        self.arrays = None if flow is None else flow.arrays
        super().attach(attached)

    def make_room(self) -> None:
        """Make the tiles that flowing soil has asked for."""
        self.ground.grid.fill_requests()

    def refresh(self) -> None:
        """Have the kernels use the grid's present arrays."""
        if self.packed is not None:
            self.arrays = self.arrays._replace(grid=self.ground.grid.arrays)
            self.packed.replace(self.arrays)

    # --- state

    def state(self) -> dict[str, np.ndarray]:
        """The grid, and when it flowed last."""
        grid = {f"soil_{name}": array for name, array in self.ground.grid.state().items()}
        return grid | super().state()

    def kept(self) -> dict[str, np.ndarray]:
        """The part of it whose shape does not change."""
        return {"soil_flow": self.ground.flow}

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse a state of another ground, or with indices that lead out of its arrays."""
        must_fit(arrays, self.kept())
        grid = self.ground.grid
        if ("soil_column" in arrays) != grid.columns:
            raise InputError(
                "restore: the saved state has another interaction.soil.model (scm or columns)"
            )
        for name, own in self._changing().items():
            fit_rows(name, arrays.get(name), own)
        tile = arrays["soil_tile"]
        nodes = len(tile) * NODES
        check_range("soil_tile", tile, 1 - HALF, HALF - 1)
        if len(np.unique(tile, axis=0)) != len(tile):
            raise refuse("soil_tile", "names a tile twice")
        for name in (*_BY_NODE, *(("column",) if grid.columns else ())):
            if len(arrays[f"soil_{name}"]) != nodes:
                raise refuse(f"soil_{name}")
        if len(arrays["soil_top"]) != len(tile):
            raise refuse("soil_top")
        if len(arrays["soil_request"]) > len(grid.arrays.request):
            raise refuse("soil_request")
        check_range("soil_request", arrays["soil_request"], 1 - HALF, HALF - 1)
        if len(arrays["soil_queue"]) > nodes:
            raise refuse("soil_queue")
        check_range("soil_queue", arrays["soil_queue"], 0, nodes - 1)
        check_range("soil_flow", arrays["soil_flow"], 0, np.inf)

    def _changing(self) -> dict[str, np.ndarray]:
        """Arrays with the types and further dimensions of what changes its length."""
        a = self.ground.grid.arrays
        out = {f"soil_{name}": getattr(a, name) for name in (*_BY_NODE, *_BY_TILE)}
        if self.ground.grid.columns:
            out["soil_column"] = a.column[:, :KEPT_COLUMNS]
        return out

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave; all laws are to take the grid's new arrays (`refresh`)."""
        names = [*_BY_NODE, *_BY_TILE]
        if self.ground.grid.columns:
            names.append("column")
        self.ground.grid.restore({name: arrays[f"soil_{name}"] for name in names})
        super().restore(arrays)


def fit_rows(name: str, found: np.ndarray | None, own: np.ndarray) -> None:
    """Refuse an array of a saved state that is not as one's own, but for its length."""
    if found is None or found.dtype != own.dtype or found.ndim != own.ndim:
        raise refuse(name)
    if found.shape[1:] != own.shape[1:]:
        raise refuse(name)
