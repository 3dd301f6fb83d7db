"""The trench that a wheel digs, as kernels of all laws of soil see it.

What slip carries off, a layer of the thickness a over the wheel's width b (`tread`), comes from a
trench whose walls slide in at the angle of repose φ_r. Its depth z_s follows from the volume,

    z_s + z_s²/(b tan φ_r) = a,

and is a where the trench is shallow; the walls are ours.
"""

from __future__ import annotations

import math

from marsyard.jit import inlined

#: share of the soil carried by lugs that is released under the rear arc (`tread`)
RELEASED = 1 / 3


@inlined
def trench_depth(layer, scale):
    """z_s where a layer of the thickness a is carried off; scale: b tan φ_r [m]."""
    return 2.0 * layer / (1.0 + math.sqrt(1.0 + 4.0 * layer / max(scale, 1e-9)))
