"""Traction maps: pose, tilt, stability, largest pull and a verdict for every position and heading.

from marsyard.analysis.traction_map import save_figures, traction_map

found = traction_map("exomars", "fractal_rough", friction=0.5)
save_figures(found, "runs/traction")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.analysis.traction_map.figures import save_figures
    from marsyard.analysis.traction_map.maps import (
        VerdictLimits,
        path_profile,
        traction_map,
    )
    from marsyard.analysis.traction_map.poses import compile_map_kernels

__all__ = ["VerdictLimits", "compile_map_kernels", "path_profile", "save_figures", "traction_map"]

_HOME = {
    "VerdictLimits": "maps",
    "compile_map_kernels": "poses",
    "path_profile": "maps",
    "save_figures": "figures",
    "traction_map": "maps",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
