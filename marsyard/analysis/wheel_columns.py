"""Names and units of the columns of wheel logs.

A name is one of those of `ALIASES`, in any case and any of the usual spellings, with or without
`meas_` or `mean_` before and a unit after it: `Fx_N`, `drawbar pull (N)`, `sinkage_mm`, `T_w [Nm]`,
`F_{DP} / kN`, `slipRatio`. Single letters keep their case: T is a torque, t a time. Without unit:
SI. `…_sd` (`_std`, `_sigma`, `_err`; also before the name, `std(Fx)`) is a standard deviation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from marsyard.errors import InputError

#: what may be measured: unit, factor to show it, unit shown, name
QUANTITIES: dict[str, tuple[str, float, str, str]] = {
    "pull": ("N", 1.0, "N", "drawbar pull"),
    "side": ("N", 1.0, "N", "side force"),
    "torque": ("N·m", 1.0, "N·m", "torque"),
    "sinkage": ("m", 1e3, "mm", "sinkage"),
}
INPUTS = ("radius", "width", "lug_height", "load", "slip", "slip_angle")
#: from these a slip is computed where a file has none
SPEEDS = ("rate", "rim", "travel", "ahead", "aside")

_G = 9.80665
_LENGTH = {"": 1.0, "m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": 0.0254, "inch": 0.0254}
_FORCE = {"": 1.0, "n": 1.0, "kn": 1e3, "mn": 1e-3, "kgf": _G, "lbf": 4.4482216,
          "lbs": 4.4482216, "lb": 4.4482216}  # fmt: skip
_SPEED = {
    "": 1.0, "m_s": 1.0, "mps": 1.0, "mm_s": 1e-3, "mmps": 1e-3, "cm_s": 1e-2, "cmps": 1e-2,
    "m_min": 1 / 60, "km_h": 1 / 3.6,
}  # fmt: skip
_DEG = math.pi / 180
#: units by quantity, normalised: lower case, "_" for "/", no dots
UNITS: dict[str, Mapping[str, float]] = {
    "radius": _LENGTH, "diameter": {u: f / 2 for u, f in _LENGTH.items()}, "width": _LENGTH,
    "lug_height": _LENGTH, "sinkage": _LENGTH,
    "load": {**_FORCE, "kg": _G}, "pull": _FORCE, "side": _FORCE,
    "torque": {
        "": 1.0, "nm": 1.0, "n_m": 1.0, "mnm": 1e-3, "mn_m": 1e-3, "ncm": 1e-2, "knm": 1e3,
        "nmm": 1e-3, "ftlb": 1.3558179, "inlb": 0.1129848,
    },
    "pull_ratio": {"": 1.0, "percent": 1e-2},
    "slip": {"": 1.0, "percent": 1e-2, "pct": 1e-2, "perc": 1e-2},
    "slip_angle": {"": 1.0, "rad": 1.0, "deg": _DEG, "degree": _DEG, "degrees": _DEG},
    "time": {"": 1.0, "s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0},
    "rate": {
        "": 1.0, "rad_s": 1.0, "deg_s": _DEG, "rpm": math.pi / 30, "rev_min": math.pi / 30,
        "u_min": math.pi / 30, "rps": 2 * math.pi,
    },
    "rim": _SPEED, "travel": _SPEED, "ahead": _SPEED, "aside": _SPEED,
}  # fmt: skip
ALIASES: dict[str, tuple[str, ...]] = {
    "radius": ("radius", "wheel_radius", "r_wheel", "r_w", "rim_radius"),
    "diameter": ("diameter", "wheel_diameter", "d_wheel", "wheel_dia", "dia"),
    "width": ("width", "wheel_width", "b_wheel", "b_w", "rim_width"),
    "lug_height": (
        "lug_height", "grouser_height", "paddle_height", "lug", "grouser", "h_lug", "h_g",
    ),
    "load": (
        "load", "vertical_load", "wheel_load", "normal_load", "normal_force", "vertical_force",
        "fz", "f_z", "fn", "f_n", "weight", "axle_load",
    ),
    "slip": (
        "slip", "slip_ratio", "wheel_slip", "slippage", "longitudinal_slip", "kappa", "sr",
        "slip_rate",
    ),
    "slip_angle": (
        "slip_angle", "sideslip_angle", "side_slip_angle", "sideslip", "side_slip", "beta",
        "alpha", "lateral_slip_angle",
    ),
    "pull": (
        "drawbar_pull", "pull", "dp", "f_dp", "fdp", "fx", "f_x", "longitudinal_force", "drawbar",
        "drawbar_force", "net_traction", "traction", "traction_force", "pull_force",
    ),
    "pull_ratio": (
        "dp_w", "fx_fz", "pull_coefficient", "drawbar_pull_coefficient", "drawbar_coefficient",
        "net_traction_coefficient", "traction_coefficient", "pull_ratio", "dp_over_w",
        "normalized_drawbar_pull", "normalised_drawbar_pull",
    ),
    "side": (
        "side_force", "lateral_force", "side", "fy", "f_y", "cornering_force", "f_lat", "flat",
        "f_side",
    ),
    "torque": (
        "torque", "driving_torque", "drive_torque", "wheel_torque", "motor_torque", "t_w", "tw",
        "m_w", "m_r", "mr", "my", "m_y", "ty", "t_y", "t_q", "moment",
    ),
    "sinkage": (
        "sinkage", "wheel_sinkage", "z_w", "sink", "sinkage_depth", "depth", "sinkage_rel",
        "sinkage_relative", "relative_sinkage",
    ),
    "time": ("time", "timestamp", "elapsed", "elapsed_time"),
    "rate": (
        "omega", "wheel_rate", "angular_velocity", "angular_speed", "wheel_angular_velocity",
        "rotation_rate", "rotational_speed", "wheel_omega", "rotational_velocity", "rpm",
        "wheel_speed", "wheel_velocity",
    ),
    "rim": (
        "rim_speed", "wheel_surface_speed", "circumferential_speed", "peripheral_speed",
        "surface_speed", "circumferential_velocity", "tangential_velocity", "wheel_speed",
        "wheel_velocity",
    ),
    "travel": (
        "travel_speed", "travel_velocity", "carriage_speed", "carriage_velocity", "speed",
        "velocity", "translational_velocity", "translational_speed", "travelling_speed",
    ),
    "ahead": (
        "vx", "v_x", "forward_speed", "forward_velocity", "longitudinal_velocity",
        "longitudinal_speed",
    ),
    "aside": ("vy", "v_y", "lateral_velocity", "lateral_speed", "side_velocity"),
}  # fmt: skip
#: single letters, in their own case
_LETTERS = {
    "T": "torque", "M": "torque", "t": "time", "W": "load", "z": "sinkage", "Z": "sinkage",
    "i": "slip", "s": "slip", "S": "slip", "κ": "slip", "r": "radius", "R": "radius", "b": "width",
    "B": "width", "D": "diameter", "d": "diameter", "v": "travel", "V": "travel", "β": "slip_angle",
    "α": "slip_angle", "ω": "rate",
}  # fmt: skip
_RELATIVE = ("sinkage_rel", "sinkage_relative", "relative_sinkage")
_BEFORE = ("meas_", "measured_", "mean_", "avg_", "average_", "exp_", "experimental_")
_AFTER = ("_meas", "_measured", "_mean", "_avg", "_average")
_SPREAD = "sd|std|stdev|std_dev|sigma|err|error|standard_deviation"
_GREEK = {"β": "beta", "α": "alpha", "ω": "omega", "κ": "kappa"}


@dataclass(frozen=True)
class Column:
    """What a column's name says: quantity, factor to SI, whether it is a standard deviation."""

    name: str
    quantity: str
    factor: float
    spread: bool = False
    relative: bool = False
    bare: bool = False  # no unit in the name
    letter: bool = False  # a single letter: any longer name is a better sign

    @property
    def measured(self) -> bool:
        return self.name.strip().lower().startswith("meas")


def unit_of(text: str) -> str:
    """A unit in the spelling of `UNITS`: "N·m" and "N m" are nm, "mm/s" is mm_s, "%" percent."""
    unit = text.strip().lower()
    for sign, word in (
        ("°", "deg"),
        ("%", "percent"),
        ("s^-1", "/s"),
        ("s⁻¹", "/s"),
        ("s-1", "/s"),
    ):
        unit = unit.replace(sign, word)
    unit = re.sub(r"[·⋅*.^]", "", unit)
    unit = re.sub(r"[\s/\-–]+", "_", unit).strip("_")
    return {"ft_lb": "ftlb", "in_lb": "inlb", "n_cm": "ncm", "n_mm": "nmm"}.get(unit, unit)


def is_unit(text: str) -> bool:
    """Whether a text is a unit of anything here, or a dash."""
    return any(unit_of(text) in units for units in UNITS.values())


def understand(name: str, file: str = "") -> Column | str | None:
    """What a column means; a note where only its unit is not known; None for other columns."""
    found = _read_name(name, _plain(name), file)
    if found is None or isinstance(found, str):
        # drawbarPull, slipRatio
        split = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name)
        if split != name and isinstance(again := _read_name(name, _plain(split), file), Column):
            return again
    return found


def _plain(name: str) -> tuple[str, str]:
    """A name without its bracket, TeX and blanks, in its own case; and the unit in the bracket."""
    text, bracket = re.sub(r"[${}\\]", "", name.strip()), ""
    if match := re.match(r"^(.*?)\s*\[([^\]]*)\]\s*(.*)$", text):
        text, bracket = f"{match[1]} {match[3]}".strip(), match[2]
    elif match := re.match(r"^(.+?)\s*\(([^)]*)\)\s*(.*)$", text):
        if not re.fullmatch(_SPREAD, match[1].strip().lower()):
            text, bracket = f"{match[1]} {match[3]}".strip(), match[2]
    elif match := re.match(r"^(.+?)(?:\s+/\s*|\s*/\s+|\s+in\s+|,\s*)(\S+)$", text):
        text, bracket = match[1], match[2]
    elif "/" in text and is_unit(text.rpartition("/")[2]):
        text, _, bracket = text.rpartition("/")
    return re.sub(r"[\s\-./]+", "_", text).strip("_"), bracket


def _read_name(name: str, plain: tuple[str, str], file: str) -> Column | str | None:
    text, bracket = plain
    own, spread = _without_spread(text)
    for greek, word in _GREEK.items():
        own = own.replace(greek, word) if len(own) > 1 else own
    low = own.lower()
    for before in _BEFORE:
        low = low.removeprefix(before)
    for after in _AFTER:
        low = low.removesuffix(after) if not low.endswith("_" + after) else low
    keys, alias, rest = _alias_of(own, low)
    if not keys:
        return None
    given = unit_of(bracket) if bracket.strip() not in ("", "1") else unit_of(rest)
    # "Sinkage z [mm]": a symbol after the name
    if bracket and rest and not is_unit(rest) and len(rest) > 2 and rest not in ALIASES[keys[0]]:
        return None
    for key in keys:
        # wheel_speed is a rate or a speed, as its unit says
        if given in UNITS[key] and (given or len(keys) == 1 or alias == "rpm"):
            factor = UNITS[key][given]
            if alias == "rpm":
                factor = UNITS["rate"]["rpm"]
            quantity = "radius" if key == "diameter" else key
            bare = not given and alias != "rpm"
            relative, letter = alias in _RELATIVE, len(alias) == 1
            return Column(name, quantity, factor, spread, relative, bare, letter)
    return _wrong_unit(name, keys, alias, bracket, rest, file)


def _wrong_unit(
    name: str, keys: tuple[str, ...], alias: str, bracket: str, rest: str, file: str
) -> str | None:
    allowed = ", ".join(dict.fromkeys(u for key in keys for u in UNITS[key] if u))
    # a single letter with something else in its bracket is something else
    if bracket and len(alias) > 1:
        raise InputError(
            f"{file}: column '{name}': '{bracket}' is not a unit of {keys[0]}; {allowed}"
        )
    # grouser_count, lug_spacing
    if len(alias) < 3 or "_" in rest or alias in ("lug", "grouser"):
        return None
    if not rest:
        return f"column '{name}' is not used: state its unit ({allowed})"
    return f"column '{name}' is not used: '{rest}' is not a unit of {keys[0]} ({allowed})"


def _without_spread(text: str) -> tuple[str, bool]:
    """A name without the mark of a standard deviation: Fx_sd, Fx_sd_N, Fx_N_sd, sd_Fx, std(Fx)."""
    if match := re.fullmatch(rf"(?:{_SPREAD})_?\((.+)\)(.*)", text, re.IGNORECASE):
        return match[1] + match[2], True
    if match := re.fullmatch(rf"(?:{_SPREAD}|σ)_(?:of_)?(.+)", text, re.IGNORECASE):
        return match[1], True
    if match := re.fullmatch(rf"(.+?)_(?:{_SPREAD})(_.+)?", text, re.IGNORECASE):
        return match[1] + (match[2] or ""), True
    return text, False


def _alias_of(own: str, low: str) -> tuple[tuple[str, ...], str, str]:
    """The quantities a name may mean, the alias it has, and what follows it."""
    letter, _, rest = own.partition("_")
    fits = [a for all_of in ALIASES.values() for a in all_of if low == a or low.startswith(a + "_")]
    alias = max(fits, key=len, default="")
    if alias:
        keys = tuple(k for k, all_of in ALIASES.items() if alias in all_of)
        return keys, alias, low[len(alias) + 1 :]
    if letter in _LETTERS and (not rest or is_unit(rest)):
        return (_LETTERS[letter],), letter, rest.lower()
    return (), "", ""
