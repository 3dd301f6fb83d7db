"""The world as it really is: a scenario that differs from what the operator believes.

Unless settings or a file say otherwise the difference is drawn from a seed. On terrain the soil is
looser than believed, and the ground rougher than known:

    tan φ × U(0.85, 0.97),  K × U(1.2, 1.8),  k_c and k_φ × U(0.7, 0.95)
    fractal relief on top: roughness U(5 mm, 15 mm) over 1 m, Hurst exponent 0.8

Elsewhere the friction is multiplied by U(0.7, 0.95). The ranges are assumed; with wider ones the
rover of `teleop/slalom` digs itself in, also on level ground.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario

#: ranges of the factors on the soil's numbers
FACTORS = {"friction_angle": (0.85, 0.97), "shear_modulus": (1.2, 1.8), "k": (0.7, 0.95)}
#: of relief that is not known [m], over 1 m
ROUGHNESS = (0.005, 0.015)
FRICTION = (0.7, 0.95)


def truth_of(
    scenario: str | Path | Mapping[str, Any],
    *,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    file: str | Path | None = None,
) -> tuple[Scenario, dict[str, float]]:
    """What really is, for what an operator believes, and the numbers that were drawn by name.

    Args:
        scenario: believed; a name of the library, a file, or the data of one.
        seed: of the difference; none for no random difference.
        settings: by path, as of `--set`, on top of it.
        file: another scenario that is the truth, in place of the believed one.
    """
    from marsyard.scenario import resolve, scenario_data, validate
    from marsyard.scenario.scenario import apply_setting

    if file is None and isinstance(scenario, Mapping):
        name, data = "scenario", copy.deepcopy(dict(scenario))
    else:
        name = str(file if file is not None else scenario)
        data = copy.deepcopy(scenario_data(name))
    drawn: dict[str, float] = {}
    if seed is not None:
        if seed < 0:
            raise InputError(f"seed = {seed}: must be a whole number, 0 or more")
        drawn = _alter(data, validate(copy.deepcopy(data), name), seed)
    for path, value in (settings or {}).items():
        apply_setting(data, path, value)
    return resolve(validate(data, name)), drawn


def _alter(data: dict[str, Any], scenario: Scenario, seed: int) -> dict[str, float]:
    luck = np.random.default_rng([seed, 0x7E1E])
    grounds = [k for k, g in enumerate(data.get("ground") or []) if _is_terrain(g)]
    if not grounds:
        factor = float(luck.uniform(*FRICTION))
        interaction = data.setdefault("interaction", {})
        interaction["friction"] = factor * scenario.interaction.friction
        return {"friction ×": factor}
    drawn = {name: float(luck.uniform(*range_)) for name, range_ in FACTORS.items()}
    ground = data["ground"][grounds[0]]
    ground["soil"] = _loose(ground.get("soil"), drawn)
    rough = float(luck.uniform(*ROUGHNESS))
    terrain = ground.get("terrain")
    if isinstance(terrain, dict):
        layer = {
            "kind": "fractal", "hurst": 0.8, "roughness": rough, "lag": 1.0, "spacing": 0.1,
            "patch": 25.6, "seed": int(luck.integers(1, 1_000_000)),
        }  # fmt: skip
        terrain["layers"] = [*(terrain.get("layers") or []), layer]
    out = {
        "tan(friction_angle) ×": drawn["friction_angle"],
        "shear_modulus ×": drawn["shear_modulus"],
        "k_c, k_phi ×": drawn["k"],
    }
    return out | ({"roughness [m]": rough} if isinstance(terrain, dict) else {})


def _is_terrain(ground: Any) -> bool:
    return isinstance(ground, Mapping) and ground.get("kind") == "terrain"


def _loose(given: Any, factor: Mapping[str, float]) -> dict[str, Any]:
    """A soil as its numbers, with factors on them."""
    from marsyard.ground.soil import load_soil

    if given is None:
        raise InputError("truth: the ground names no soil to change; use settings")
    soil = load_soil(given)
    out = dict(given) if isinstance(given, Mapping) else {"name": given}
    if soil.friction_angle is not None:
        out["friction_angle"] = math.atan(factor["friction_angle"] * math.tan(soil.friction_angle))
    for name, by in (
        ("shear_modulus", "shear_modulus"), ("shear_modulus_lateral", "shear_modulus"),
        ("k_c", "k"), ("k_phi", "k"),
    ):  # fmt: skip
        value = getattr(soil, name)
        if value is not None:
            out[name] = value * factor[by]
    return out
