"""Powers and exponentials for vector units against the C library's."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from marsyard.interaction.soil_contact.powers import decay, power


@njit
def powers(x, n, out):
    for k in range(len(x)):
        out[k] = power(x[k], n)


@njit
def decays(x, out):
    for k in range(len(x)):
        out[k] = decay(x[k])


@pytest.mark.parametrize("n", [0.1, 0.5, 0.63, 1.0, 1.4, 3.0])
def test_power(n):
    x = np.concatenate([10 ** np.random.default_rng(1).uniform(-12, 3, 20000), [0.5, 1.0, 2.0]])
    out = np.empty_like(x)
    powers(x, n, out)
    # the error of the exponent, n log₂ x of at most 120, comes back as a relative one
    assert np.abs(out / x**n - 1).max() < 2e-14


def test_decay():
    x = np.concatenate([10 ** np.random.default_rng(2).uniform(-18, 4, 20000), [1.0, 700.0]])
    out = np.empty_like(x)
    decays(x, out)
    assert np.abs(out / -np.expm1(-x) - 1).max() < 1e-15
    decays(np.zeros(3), out[:3])
    assert np.all(out[:3] == 0.0)


def test_they_run_on_vector_units():
    x, out = np.ones(64), np.empty(64)
    powers(x, 0.63, out)
    assembly = "".join(powers.inspect_asm().values())
    # a product of packed doubles, whatever the width of the registers
    assert "mulpd" in assembly or "fmul\tv" in assembly or "fmadd" in assembly
