"""A generator of ground: rows of dunes across x, each with its own shift and a crest that winds.

    z = h ((1 + cos(2π (x − w(y))/λ))/2)^1.5

h height [m], λ wavelength [m]; w(y) is a sum of three waves with random phases.
"""

import numpy as np


def dunes(random, height=0.15, wavelength=2.5, winding=0.3):
    """Rows of dunes with winding crests: height, wavelength, winding [m]."""
    if not (height >= 0 and wavelength > 0 and winding >= 0):
        raise ValueError("height and winding must be at least 0 m, wavelength above 0 m")
    lengths = wavelength * np.array([2.0, 3.3, 5.7])
    phases = random.uniform(0, 2 * np.pi, 3)

    def heights(x, y):
        shift = sum(
            winding * np.sin(2 * np.pi * y / a + p) for a, p in zip(lengths, phases, strict=True)
        )
        wave = (1 + np.cos(2 * np.pi * (x - shift) / wavelength)) / 2
        return height * wave**1.5

    return heights
