"""Compatibility of integrators and laws, and of laws and parameters, as declared by the laws.

`moreau_jean` evaluates every force law and every constraint law of the yard, but not MuJoCo's soft
contact. MuJoCo's own schemes know soft contact with convex hard ground and nothing else: soil,
polygons, elements and laws of plug-ins would not act, and the robot would fall through the ground.
Beams, meshes and tracks are known only with the robot (`simulation.world`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.interaction import about
from marsyard.interaction.options import inside

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario


def check_integrator(scenario: Scenario) -> None:
    """Raise ValueError where the integrator cannot carry the law or the ground."""
    _check_couples(scenario)
    _check_ground(scenario)
    integrator, law = scenario.run.integrator, about.law_of_hard_ground(scenario)
    if law.is_mujocos and integrator not in law.integrators:
        raise ValueError(
            f"interaction.law: {law.name}"
            f"'s soft contact needs a smooth integrator; use run.integrator "
            f"{_either(law.integrators)}"
        )
    for what, integrators, instead in _acting(scenario):
        if integrator not in integrators:
            raise ValueError(
                f"run.integrator: '{integrator}' "
                f"is MuJoCo's and does not support {what}; use {_either(integrators)}{instead}"
            )


def _acting(scenario: Scenario) -> list[tuple[str, tuple[str, ...], str]]:
    """What acts in a scenario, the integrators that know it, and what else one could do."""
    use, law = scenario.interaction, about.law_of_hard_ground(scenario)
    out: list[tuple[str, tuple[str, ...], str]] = []
    for path, options in inside(use):
        if key := options.acts_by():
            out.append((f"interaction.{path}.{key}", about.OURS, ""))
    others = [n for n, a in about.laws(about.HARD).items() if a.integrators != law.integrators]
    instead = f", or interaction.law {_either(others)}"
    out.append((f"the {law.name} law", law.integrators, instead))
    if use.plugin is not None:
        out.append(("interaction.plugin", about.OURS, ""))
    soil = next((g for g in scenario.ground if g.kind == "terrain"), None)
    if soil is not None:
        model = about.laws(about.SOIL)[use.soil.model]
        allowed = [n for n, a in about.laws(about.HARD).items() if not a.is_mujocos]
        what = f"the soil of ground '{soil.name}', so that the robot would fall through it"
        out.append((what, model.integrators, f" with interaction.law {_either(allowed)}"))
    return out


def _either(names: tuple[str, ...] | list[str]) -> str:
    """'a', 'a or b', 'a, b or c'."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _check_ground(scenario: Scenario) -> None:
    """Wheel models act on soil alone."""
    wheel, kinds = scenario.interaction.wheel, [g.kind for g in scenario.ground]
    if wheel is not None and "terrain" not in kinds:
        raise ValueError(
            f"interaction.wheel: the wheel model {wheel.model} needs ground of kind terrain, and "
            f"the scenario has {', '.join(kinds) or 'no ground'}; remove interaction.wheel"
        )


def _check_couples(scenario: Scenario) -> None:
    """Couples against rolling and spinning belong to laws that know them."""
    use, law = scenario.interaction, about.law_of_hard_ground(scenario)
    if law.rolling_friction:
        return
    knowing = [n for n, a in about.laws(about.HARD).items() if a.rolling_friction]
    named = {"interaction": use} | {f"interaction.surfaces.{k}": v for k, v in use.surfaces.items()}
    for path, values in named.items():
        for field in ("rolling_friction", "spinning_friction"):
            if getattr(values, field):
                raise ValueError(
                    f"{path}.{field}: the {law.name} "
                    f"law has no such resistance; use interaction.law {_either(knowing)}, or "
                    f"leave it at 0"
                )
