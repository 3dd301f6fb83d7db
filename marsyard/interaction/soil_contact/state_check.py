"""Whether a saved state can be one of these contacts: compiled code takes arrays as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from marsyard.ground.soil_nodes import NODES
from marsyard.interaction.law import check_range, must_fit, refuse
from marsyard.interaction.soil_bed import fit_rows

if TYPE_CHECKING:
    from marsyard.interaction.soil_contact.node_law import NodeLaw

#: steps that a run can count
_MOST_STEPS = 2**53


def check_contacts(law: NodeLaw, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a saved state that is none of this law; the soil bed checks that of the grid."""
    must_fit(arrays, law.kept())
    check_range("soil_bin_count", arrays["soil_bin_count"], 0, _MOST_STEPS)
    check_range("soil_cut", arrays["soil_cut"], 0, 1)
    check_range("soil_evaluations", arrays["soil_evaluations"], 0, _MOST_STEPS)
    nodes = len(arrays.get("soil_tile", ())) * NODES
    for b in range(len(law.attachments)):
        prefix = f"soil_contact_{b}_"
        for part in ("node", "key", "touching", "state"):
            fit_rows(prefix + part, arrays.get(prefix + part), getattr(law.patch, part)[0, b])
        _check_contact(prefix, arrays, nodes, law.patch.node.shape[2])


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
