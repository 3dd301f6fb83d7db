"""Laws for which the published numbers of a soil are sufficient."""

from __future__ import annotations

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground import load_soil
from marsyard.interaction import about

#: numbers behind the modulus of the pressure-sinkage law, in Bekker's and in Reece's form
_BEKKER, _REECE = ("k_c", "k_phi"), ("reece_kc", "reece_kphi", "density")


def assumed_by_law(name: str) -> dict[str, list[str]]:
    """By soil model, the numbers it asks for that the soil's file marks as assumed or lacks."""
    soil = load_soil(name)
    entries = library.read_yaml(library.path_of("soils", name)).get("numbers") or {}
    published = {
        key for key, entry in entries.items()
        if not isinstance(entry, dict) or entry.get("provenance", "published") != "assumed"
    }  # fmt: skip
    modulus = _BEKKER if soil.has(*_BEKKER) else _REECE
    found = {}
    for law in about.all_laws():
        if law.soil_numbers:
            asked = [n for n in law.soil_numbers if n != "modulus"]
            asked += [n for n in modulus if n not in asked]
            found[law.name] = [n for n in asked if n not in published]
    return found


def published_laws(name: str) -> list[str]:
    """Soil models that find all they ask for published, or derived from what is."""
    try:
        return [law for law, assumed in assumed_by_law(name).items() if not assumed]
    except InputError:  # a plug-in's soil that cannot be read is told of elsewhere
        return []


def laws_text(name: str) -> str:
    """All soil models, each with the numbers that are assumed for it."""
    return "; ".join(
        f"{law} ({', '.join(assumed)} assumed)" if assumed else f"{law} (all published)"
        for law, assumed in assumed_by_law(name).items()
    )
