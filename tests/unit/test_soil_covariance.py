"""The covariance of a soil's file: what it says, draws from it, and mistakes in it."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml

from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.ground.soil_covariance import correlated
from marsyard.operations.distributions import uncertain_of

MANY = 4000
FILE = {
    "title": "a soil that is known from a test",
    "numbers": {
        "friction_angle": "30 deg", "shear_modulus": "1 cm", "cohesion": 200, "exponent": 1,
        "k_c": 0, "k_phi": 1e6,
    },
    "extra": {"c_P1": -0.2},
    "covariance": {
        "numbers": {
            "friction_angle": {"sd": "2 deg", "low": "10 deg", "high": "50 deg"},
            "shear_modulus": {"sd": 0.3, "scale": "log", "low": "1 mm", "high": "10 cm"},
            "c_P1": {"sd": 0.05, "low": -1, "high": 1},
        },
        "correlation": [[1, 0.8, -0.5], [0.8, 1, 0], [-0.5, 0, 1]],
    },
}  # fmt: skip


def soil_file(folder, **changes):
    path = folder / "known.yaml"
    path.write_text(yaml.safe_dump({**FILE, **changes}, sort_keys=False))
    return path


def samples(folder, count=MANY, seed=1, **changes):
    soil = load_soil(str(soil_file(folder, **changes)))
    u = uncertain_of({"seed": seed, "uncertain": {"ground.0.soil": "covariance"}})
    expanded = u.expand(lambda path: soil)
    drawn = expanded.samples(count)
    paths = list(expanded.values)
    return paths, np.array([[s[p] for p in paths] for s in drawn])


def test_draws_have_the_mean_sd_and_correlation_of_the_file(tmp_path):
    paths, values = samples(tmp_path)
    assert paths == [
        "ground.0.soil.friction_angle", "ground.0.soil.shear_modulus", "ground.0.soil.extra.c_P1",
    ]  # fmt: skip
    values[:, 1] = np.log(values[:, 1])
    error = 4 / math.sqrt(MANY)
    mean = [math.radians(30), math.log(0.01), -0.2]
    sd = np.array([math.radians(2), 0.3, 0.05])
    assert np.abs((values.mean(0) - mean) / sd).max() < error
    assert values.std(0) == pytest.approx(sd, rel=error)
    asked = FILE["covariance"]["correlation"]
    assert np.corrcoef(values.T) == pytest.approx(np.array(asked), abs=error)


def test_the_same_seed_gives_the_same_draws(tmp_path):
    first, again, other = (samples(tmp_path, 50, seed)[1] for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_draws_stay_within_their_bounds(tmp_path):
    covariance = copy.deepcopy(FILE["covariance"])
    covariance["numbers"]["friction_angle"] = {"sd": 1.0, "low": "25 deg", "high": "40 deg"}
    covariance["numbers"]["shear_modulus"] = {
        "sd": 5, "scale": "log", "low": "5 mm", "high": "2 cm",
    }  # fmt: skip
    _, values = samples(tmp_path, covariance=covariance)
    assert np.radians(25) <= values[:, 0].min() and values[:, 0].max() <= np.radians(40)
    assert values[:, 1].min() >= 0.005 and values[:, 1].max() <= 0.02
    # and go up to them, still together
    assert np.ptp(values[:, 0]) > np.radians(14)
    assert np.corrcoef(values[:, 0], np.log(values[:, 1]))[0, 1] > 0.7


@pytest.mark.parametrize("r", [1.0, -1.0, 0.9999999])
def test_numbers_that_cannot_be_told_apart_are_drawn_together(r):
    shares = np.random.default_rng(0).random((500, 2))
    a, b = correlated(shares, [[1, r], [r, 1]]).T
    assert a == pytest.approx(shares[:, 0], abs=1e-9)
    assert np.abs(b - (a if r > 0 else 1 - a)).max() < 1e-3


def test_a_soil_without_its_covariance_keeps_none():
    assert load_soil("hit_lss1").covariance is None
    u = uncertain_of({"uncertain": {"ground.0.soil": "covariance"}})
    with pytest.raises(InputError, match=r"uncertain\.ground\.0\.soil: the soil hit_lss1 has no"):
        u.expand(lambda path: load_soil("hit_lss1"))


def test_a_number_is_not_drawn_twice(tmp_path):
    soil = load_soil(str(soil_file(tmp_path)))
    path = "ground.0.soil"
    said = {path: "covariance", f"{path}.friction_angle": "uniform(20 deg, 30 deg)"}
    with pytest.raises(InputError, match="is part of the covariance of ground.0.soil as well"):
        uncertain_of({"uncertain": said}).expand(lambda at: soil)


def test_extra_numbers_of_a_mapping(tmp_path):
    given = {"name": str(soil_file(tmp_path)), "extra": {"c_P1": -0.1, "c_P2": 0.3}}
    assert load_soil(given).extra == {"c_P1": -0.1, "c_P2": 0.3}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"numbers": {}}, "'numbers' is empty"),
        ({"numbers": {"phi": {"sd": 1}}}, "no number 'phi'"),
        ({"numbers": {"density": {"sd": 1}}}, "no number 'density'"),
        ({"numbers": {"cohesion": 5}}, "a mapping with 'sd'"),
        ({"numbers": {"cohesion": {"sd": 0}}}, "sd = 0: must be above 0"),
        ({"numbers": {"cohesion": {"sd": "1 kg"}}}, "unit of"),
        ({"numbers": {"cohesion": {"sd": 1, "scale": "ln"}}}, "scale = 'ln'"),
        ({"numbers": {"cohesion": {"sd": 1, "sigma": 2}}}, "unknown key 'sigma'"),
        ({"numbers": {"cohesion": {"sd": 1, "low": 5, "high": 5}}}, "low must be below high"),
        ({"numbers": {"c_P1": {"sd": 1, "scale": "log"}}}, "needs a number above 0"),
        ({"correlation": [[1, 0], [0, 1]]}, "3 rows of 3 numbers"),
        ({"correlation": "none"}, "3 rows of 3 numbers"),
        ({"correlation": [[1, 0, 0], [0, 2, 0], [0, 0, 1]]}, "1 is expected on the diagonal"),
        ({"correlation": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "must be symmetric"),
        ({"correlation": [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]}, "negative eigenvalue"),
        ({"sd": 5}, "unknown key 'sd'"),
    ],
)
def test_mistakes_get_one_sentence(tmp_path, change, words):
    path = soil_file(tmp_path, covariance={**FILE["covariance"], **change})
    with pytest.raises(InputError, match=words) as caught:
        load_soil(str(path))
    assert str(caught.value).startswith("soil known: covariance")
    assert "\n" not in str(caught.value)
