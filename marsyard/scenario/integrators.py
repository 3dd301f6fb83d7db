"""Which laws and which ground an integrator can carry, and which numbers a law knows.

`moreau_jean` evaluates every force law and every constraint law of the yard, but not MuJoCo's soft
contact. MuJoCo's own schemes, `semi_implicit` and `implicit_damping`, know soft contact with convex
hard ground and nothing else: soil, polygons, elements and laws of plug-ins would not act, and the
robot would fall through the ground. Beams, meshes and tracks are known only with the robot
(`simulation.world`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario

#: laws of contact that need the Moreau-Jean scheme
_OURS = ("nonsmooth", "compliant", "polygonal")


def check_integrator(scenario: Scenario) -> None:
    """Raise ValueError where the integrator cannot carry the law or the ground."""
    integrator, law = scenario.run.integrator, scenario.interaction
    _check_couples(scenario)
    if integrator == "moreau_jean":
        if law.law == "mujoco":
            raise ValueError(
                "interaction.law: mujoco's soft contact needs a smooth integrator; "
                "use run.integrator semi_implicit or implicit_damping"
            )
        return
    refusal = f"run.integrator: '{integrator}' is MuJoCo's and cannot carry"
    if law.polygonal.pairs:
        raise ValueError(f"{refusal} interaction.polygonal.pairs; use moreau_jean")
    if law.law in _OURS:
        raise ValueError(
            f"{refusal} the {law.law} law; use moreau_jean, or interaction.law mujoco or none"
        )
    if law.plugin is not None:
        raise ValueError(f"{refusal} interaction.plugin; use moreau_jean")
    soil = next((g for g in scenario.ground if g.kind == "terrain"), None)
    if soil is not None:
        raise ValueError(
            f"{refusal} the soil of ground '{soil.name}', so that the robot would fall through it; "
            "use moreau_jean with interaction.law nonsmooth, compliant, polygonal or none"
        )


def _check_couples(scenario: Scenario) -> None:
    """Couples against rolling and spinning belong to hard contact."""
    law = scenario.interaction
    if law.law == "nonsmooth":
        return
    named = {"interaction": law} | {f"interaction.surfaces.{k}": v for k, v in law.surfaces.items()}
    for path, values in named.items():
        for field in ("rolling_friction", "spinning_friction"):
            if getattr(values, field):
                raise ValueError(
                    f"{path}.{field}: the {law.law} law has no such couple; use interaction.law "
                    "nonsmooth, or leave it at 0"
                )
