"""Uncertain values of a scenario as distributions, and samples of them.

A file of what is uncertain says, for paths of a scenario as in `--set`, how their values scatter:

    seed: 1
    uncertain:
      robot.position.0: plus normal(0, 5 cm)
      robot.attitude.2: plus normal(0, 2 deg)
      interaction.friction: uniform(0.5, 0.7)
      ground.0.seed: integers(0, 999)
      ground.0.slope: times lognormal(1, 1.1)

| text | distribution |
| --- | --- |
| `normal(mean, sd)` | Gauss |
| `normal(mean, sd, low, high)` | Gauss, cut off |
| `uniform(low, high)` | the same everywhere |
| `triangular(low, most, high)` | |
| `lognormal(median, factor)` | ln x Gaussian; 68 % lie within median/factor … median·factor |
| `lognormal(median, factor, low, high)` | the same, cut off |
| `integers(low, high)` | whole numbers, both ends among them |
| `choice(a, b, …)` | one of these, words or numbers |
| `times …` | the scenario's own value times a number drawn from what follows |
| `plus …` | the scenario's own value plus a number drawn from what follows |

`ground.0.soil: covariance`, at the path of a soil, draws its numbers jointly from the `covariance`
of its file (`ground.soil_covariance`; `marsyard identify` writes it), each about the soil's own
value. `expand` replaces it by the distributions of the numbers and their correlation.

Numbers may have units; they are given on in SI. Samples are a Latin hypercube (M. D. McKay,
R. J. Beckman, W. J. Conover, Technometrics 21, 1979): of n samples one lies in each of n equally
likely strata of every value, in random order, so that means settle faster than with independent
ones. The same seed gives the same samples, bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.ground.soil import Soil
from marsyard.ground.soil_covariance import correlated
from marsyard.units import any_to_si, unit_of

#: name: fewest and most arguments
KINDS = {
    "normal": (2, 4), "uniform": (2, 2), "triangular": (3, 3), "lognormal": (2, 4),
    "integers": (2, 2), "choice": (1, 99),
}  # fmt: skip
#: kinds whose last two numbers are ends, which may be left out
_CUT = ("normal", "lognormal")
#: in place of a distribution, at the path of a soil
COVARIANCE = "covariance"
#: of a ground's own soil, or of one of its soils by place
SOIL_PATH = re.compile(r"ground\.\d+\.(soil|soils\.[^.]+)")
_CALL = re.compile(r"^\s*(times\s+|plus\s+)?([A-Za-z_]+)\s*\((.*)\)\s*$", re.DOTALL)


@dataclass(frozen=True)
class Distribution:
    """How a value scatters: kind, arguments in SI (or words of a choice); `times` or `plus` the
    scenario's own value; the units in which arguments were given."""

    kind: str
    arguments: tuple[Any, ...]
    times: bool = False
    plus: bool = False
    units: tuple[str, ...] = ()

    @property
    def relative(self) -> bool:
        """Whether the scenario's own value counts."""
        return self.times or self.plus

    def at(self, share: float) -> Any:
        """The value below which a share of all lies, 0 < share < 1."""
        from scipy.special import ndtri

        a = self.arguments
        if self.kind == "normal":
            mean, sd = a[0], a[1]
            if len(a) == 2:
                return float(mean + sd * ndtri(share))
            from scipy.stats import truncnorm

            low, high = ((end - mean) / sd for end in a[2:])
            return float(truncnorm.ppf(share, low, high, mean, sd))
        if self.kind == "uniform":
            return float(a[0] + share * (a[1] - a[0]))
        if self.kind == "triangular":
            low, most, high = a
            if share * (high - low) < most - low:
                return float(low + math.sqrt(share * (high - low) * (most - low)))
            return float(high - math.sqrt((1 - share) * (high - low) * (high - most)))
        if self.kind == "lognormal":
            sd = math.log(a[1])
            if len(a) == 2:
                return float(a[0] * math.exp(sd * ndtri(share)))
            from scipy.stats import truncnorm

            # the exponential of an end may miss it by rounding
            ends = [(math.log(end) if end > 0 else -math.inf) - math.log(a[0]) for end in a[2:]]
            drawn = a[0] * math.exp(sd * truncnorm.ppf(share, *(end / sd for end in ends)))
            return float(min(max(drawn, a[2]), a[3]))
        if self.kind == "integers":
            low, high = (int(v) for v in a)
            return min(low + int(share * (high - low + 1)), high)
        return a[min(int(share * len(a)), len(a) - 1)]


@dataclass(frozen=True)
class Joint:
    """Paths whose values scatter together, and the correlation of their copula."""

    paths: tuple[str, ...]
    correlation: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Uncertain:
    """Distributions by path of a scenario, which of them are correlated, and the seed of their
    samples."""

    values: Mapping[str, Distribution]
    seed: int = 0
    joints: tuple[Joint, ...] = ()

    def expand(self, soil_at: Callable[[str], Soil]) -> Uncertain:
        """The same with the numbers of soils in place of `covariance`; `soil_at` gives the soil of
        a path."""
        values, joints = {}, list(self.joints)
        for path, distribution in self.values.items():
            if distribution.kind != COVARIANCE:
                values[path] = distribution
                continue
            numbers, joint = numbers_of(soil_at(path), path, f"uncertain.{path}")
            for number in numbers:
                if number in self.values:
                    raise InputError(
                        f"uncertain.{number}: is part of the covariance of {path} as well; remove "
                        f"one of them"
                    )
            values |= numbers
            joints.append(joint)
        return replace(self, values=values, joints=tuple(joints))

    def samples(self, count: int, nominal: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """`count` samples: values by path, SI.

        `nominal` holds the scenario's own values of paths that are drawn relative to them.
        """
        from scipy.stats import qmc

        if count < 1:
            raise InputError(f"samples = {count}: must be 1 or more")
        names = list(self.values)
        if not names:
            return [{} for _ in range(count)]
        generator = np.random.default_rng(self.seed)
        shares = qmc.LatinHypercube(len(names), rng=generator).random(count)
        shares = np.clip(shares, 1e-12, 1 - 1e-12)
        for joint in self.joints:
            columns = [names.index(path) for path in joint.paths]
            shares[:, columns] = correlated(shares[:, columns], joint.correlation)
        return [
            {name: self._value(name, float(row[k]), nominal or {}) for k, name in enumerate(names)}
            for row in shares
        ]

    def _value(self, name: str, share: float, nominal: Mapping[str, Any]) -> Any:
        distribution = self.values[name]
        value = distribution.at(share)
        if not distribution.relative:
            return value
        own = nominal.get(name)
        if isinstance(own, bool) or not isinstance(own, int | float):
            word = "times" if distribution.times else "plus"
            raise InputError(
                f"uncertain.{name}: '{word}' needs a number of the scenario there, not {own!r}"
            )
        return float(own) * value if distribution.times else float(own) + value


def numbers_of(soil: Soil, path: str, field: str) -> tuple[dict[str, Distribution], Joint]:
    """Distributions of a soil's numbers by path of the scenario, and their correlation.

    path: of the soil. field: begins error sentences.
    """
    found = soil.covariance
    if found is None:
        raise InputError(
            f"{field}: the soil {soil.name} has no covariance; take one that `marsyard identify` "
            "has written, or give its file one"
        )
    values = {}
    for name, spread in found.spreads:
        kind, mean, sd = "normal", soil.extra.get(name), spread.sd
        place = path if mean is None else f"{path}.extra"
        mean = soil.number(name) if mean is None else mean
        if spread.log:
            kind, sd = "lognormal", math.exp(spread.sd)
        bounded = math.isfinite(spread.low) or math.isfinite(spread.high)
        ends = (spread.low, spread.high) if bounded else ()
        values[f"{place}.{name}"] = Distribution(kind, (float(mean), sd, *ends))
    return values, Joint(tuple(values), found.correlation)


def parse(text: Any, field: str) -> Distribution:
    """A distribution from its text, e.g. "normal(0, 5 cm)"."""
    if isinstance(text, str) and text.strip() == COVARIANCE:
        return Distribution(COVARIANCE, ())
    match = _CALL.match(text) if isinstance(text, str) else None
    if match is None:
        raise InputError(f"{field}: '{text}' must be a distribution, e.g. normal(0, 5 cm)")
    relation, kind, inner = (match[1] or "").strip(), match[2].lower(), match[3]
    if kind not in KINDS:
        raise InputError(f"{field}: '{kind}' is not a distribution; {suggest(kind, KINDS)}")
    parts = [p.strip() for p in inner.split(",")] if inner.strip() else []
    least, most = KINDS[kind]
    if not least <= len(parts) <= most or (kind in _CUT and len(parts) == 3):
        several = dict.fromkeys(_CUT, "2 or 4") | {"choice": "1 or more"}
        wanted = several.get(kind, str(least))
        raise InputError(f"{field}: {kind} takes {wanted} numbers, not {len(parts)}")
    arguments = tuple(_argument(p, kind, field) for p in parts)
    _check(kind, arguments, field)
    units = _units(parts, arguments, relation == "times", field)
    return Distribution(kind, arguments, relation == "times", relation == "plus", units)


def _units(
    parts: list[str], arguments: tuple[Any, ...], times: bool, field: str
) -> tuple[str, ...]:
    """The units that numbers were given in, each once."""
    given = [unit_of(p) for p, v in zip(parts, arguments, strict=True) if not isinstance(v, str)]
    units = tuple(dict.fromkeys(u for u in given if u))
    if times and any(u != "%" for u in units):
        raise InputError(f"{field}: 'times' takes plain numbers, not '{units[0]}'")
    return units


def _argument(text: str, kind: str, field: str) -> Any:
    try:
        value = any_to_si(text)
    except ValueError:
        if kind == "choice" and text:
            return text
        raise InputError(f"{field}: '{text}' is not a number, with or without a unit") from None
    if not math.isfinite(value):
        raise InputError(f"{field}: '{text}' must be finite")
    return value


def _check(kind: str, a: tuple[Any, ...], field: str) -> None:
    """Refuse numbers that make no distribution."""
    wrong = None
    if kind == "normal" and not a[1] > 0:
        wrong = "the standard deviation must be above 0"
    elif _falls(kind, a):
        wrong = "low must be below high"
    elif kind == "triangular" and not (a[0] <= a[1] <= a[2] and a[0] < a[2]):
        wrong = "low, most and high must increase"
    elif kind == "lognormal" and not (a[0] > 0 and a[1] > 1):
        wrong = "the median must be above 0 and the factor above 1"
    elif kind == "integers" and not (a[0] <= a[1] and all(float(v).is_integer() for v in a)):
        wrong = "two increasing whole numbers are expected"
    if wrong:
        raise InputError(f"{field}: {kind}({', '.join(f'{v:g}' for v in a)}): {wrong}")


def _falls(kind: str, a: tuple[Any, ...]) -> bool:
    """Whether the ends of a range are in the wrong order."""
    ends = a[2:4] if kind in _CUT else a if kind == "uniform" else ()
    return len(ends) == 2 and not ends[0] < ends[1]


def read_uncertain(path: str | Path) -> Uncertain:
    """Read a file of uncertain values."""
    from marsyard import library

    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    return uncertain_of(library.read_yaml(file), file.name)


def uncertain_of(data: Any, name: str = "uncertain") -> Uncertain:
    """What a mapping with `uncertain` and `seed` says."""
    if not isinstance(data, Mapping):
        raise InputError(f"{name}: a mapping with 'uncertain' and 'seed' is expected")
    for key in data:
        if key not in ("uncertain", "seed"):
            known = suggest(str(key), ("uncertain", "seed"))
            raise InputError(f"{name}: unknown key '{key}'; {known}")
    seed = data.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"{name}: seed = {seed}: must be a whole number, 0 or more")
    values = data.get("uncertain", {})
    if not isinstance(values, Mapping):
        raise InputError(f"{name}: uncertain: paths with distributions are expected")
    parsed = {str(p): parse(t, f"{name}: uncertain.{p}") for p, t in values.items()}
    return Uncertain(parsed, seed)
