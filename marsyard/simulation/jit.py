"""How the functions of the loop are compiled.

Cached on disk, without the GIL, and without reference counts on arrays (`_nrt`): nothing is
allocated inside the loop, and counting the dozens of arrays that are passed down at every call
would only make compiling three times slower.
"""

from __future__ import annotations

from numba import njit

compiled = njit(cache=True, nogil=True, _nrt=False)
