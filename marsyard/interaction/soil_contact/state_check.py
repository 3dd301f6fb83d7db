"""Whether a saved state can be one of this soil: compiled code takes its arrays as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil_grid import KEPT_COLUMNS
from marsyard.ground.soil_nodes import HALF, NODES
from marsyard.interaction.law import check_range, must_fit, refuse

if TYPE_CHECKING:
    from marsyard.interaction.soil_contact.world import SoilContact

#: steps that a run can count
_MOST_STEPS = 2**53
#: a value for each node of the soil's tiles
_BY_NODE = ("ref", "depth", "flag", "time")


def _changing_soil(soil: SoilContact) -> dict[str, np.ndarray]:
    """Arrays with the types and further dimensions of what changes its length."""
    a, p = soil.grid.arrays, soil.patch
    out = {f"soil_{name}": getattr(a, name) for name in (*_BY_NODE, "tile", "top", "request")}
    out["soil_queue"] = a.queue
    if soil.grid.columns:
        out["soil_column"] = a.column[:, :KEPT_COLUMNS]
    for b in range(len(soil.names)):
        for part in ("node", "key", "touching", "state"):
            out[f"soil_contact_{b}_{part}"] = getattr(p, part)[0, b]
    return out


def check_soil(soil: SoilContact, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a saved state that is none of this soil."""
    must_fit(arrays, soil.kept())
    if ("soil_column" in arrays) != soil.grid.columns:
        raise InputError(
            "restore: the saved state has another interaction.soil.model (scm or columns)"
        )
    for name, own in _changing_soil(soil).items():
        found = arrays.get(name)
        if found is None or found.dtype != own.dtype or found.shape[1:] != own.shape[1:]:
            raise refuse(name)
        if found.ndim != own.ndim:
            raise refuse(name)
    tile = arrays["soil_tile"]
    nodes = len(tile) * NODES
    check_range("soil_tile", tile, 1 - HALF, HALF - 1)
    if len(np.unique(tile, axis=0)) != len(tile):
        raise refuse("soil_tile", "names a tile twice")
    for name in (*_BY_NODE, *(("column",) if soil.grid.columns else ())):
        if len(arrays[f"soil_{name}"]) != nodes:
            raise refuse(f"soil_{name}")
    if len(arrays["soil_top"]) != len(tile):
        raise refuse("soil_top")
    if len(arrays["soil_request"]) > len(soil.grid.arrays.request):
        raise refuse("soil_request")
    check_range("soil_request", arrays["soil_request"], 1 - HALF, HALF - 1)
    if len(arrays["soil_queue"]) > nodes:
        raise refuse("soil_queue")
    check_range("soil_queue", arrays["soil_queue"], 0, nodes - 1)
    check_range("soil_bin_count", arrays["soil_bin_count"], 0, _MOST_STEPS)
    check_range("soil_evaluations", arrays["soil_evaluations"], 0, _MOST_STEPS)
    for b in range(len(soil.names)):
        _check_contact(f"soil_contact_{b}_", arrays, nodes, soil.patch.node.shape[2])


def _check_contact(prefix: str, arrays: Mapping[str, np.ndarray], nodes: int, room: int) -> None:
    """The nodes under one body: as many of everything, in the order of their keys."""
    count = len(arrays[prefix + "node"])
    if count > room:
        raise refuse(prefix + "node")
    for part in ("key", "touching", "state"):
        if len(arrays[prefix + part]) != count:
            raise refuse(prefix + part)
    check_range(prefix + "node", arrays[prefix + "node"], 0, nodes - 1)
    check_range(prefix + "touching", arrays[prefix + "touching"], 0, 1)
    if (np.diff(arrays[prefix + "key"]) <= 0).any():
        raise refuse(prefix + "key", "is not in order")
