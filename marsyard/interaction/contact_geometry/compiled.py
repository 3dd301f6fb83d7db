"""How the contact kernels are compiled.

They allocate nothing and keep no array, so they are compiled without Numba's reference counting,
whose atomic updates would cost four times as much as a plane contact. Divisions follow IEEE.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

# for functions with many array arguments, whose passing would cost more than their work
inlined = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
