"""What the wheel models say of themselves."""

from marsyard.interaction.about import WHEEL, About, Guide

_MEASURED = "[measured wheels](validation-wheels.md)"


#: numbers of a soil by model
_SINKAGE = ("modulus", "exponent")
_STRESSES = (*_SINKAGE, "cohesion", "friction_angle", "shear_modulus", "density")
_SOIL = {
    "wong_reece": _STRESSES, "ishigami": _STRESSES, "ding": _STRESSES, "magic_formula": _SINKAGE,
}  # fmt: skip


def _model(name: str, title: str, text: str, guide: Guide) -> About:
    page = f"wheel-models/{name.replace('_', '-')}"
    return About(name, WHEEL, title, text, page, guide, soil_numbers=_SOIL.get(name, ()))


LAWS = (
    _model(
        "wong_reece", "Wong and Reece's stresses over the wheel's arc",
        "stresses over the arc, shear along the wheel",
        Guide(
            ground="soil under a wheel",
            gives="pull, torque, side force, sinkage, digging in, ruts and berms",
            lacks="soil pushed ahead",
            needs="a soil", checked=_MEASURED,
            use="rovers on soil, slip along and across",
            valid="steady motion, sinkage below the radius",
        ),
    ),
    _model(
        "ishigami", "Ishigami's stresses, shear along and across apart",
        "the same, and shear across it",
        Guide(
            ground="soil under a wheel", gives="as wong_reece, side force as published",
            lacks="as wong_reece; may exceed the strength by √2", needs="a soil",
            checked=_MEASURED, use="steering, traverses",
            valid="as wong_reece; side force measured up to 16°",
        ),
    ),
    _model(
        "ding", "Ding's closed form", "a closed form of such integrals",
        Guide(
            ground="soil under a wheel",
            gives="as wong_reece, in closed form",
            lacks="soil pushed ahead", needs="a soil, mean load", checked=_MEASURED,
            use="fast runs, identified soils",
            valid="sinkage below the radius",
        ),
    ),
    _model(
        "magic_formula", "Pacejka's curves", "fitted curves of tyres",
        Guide(
            ground="fitted curves", gives="what was measured", lacks="another wheel, soil or load",
            needs="a fit", checked=_MEASURED, use="a wheel with test data",
            valid="the wheel, soil and range of the fit",
        ),
    ),
    _model(
        "rigid_slip", "friction that grows with slip, no soil",
        "friction that grows with slip, on a rigid surface",
        Guide(
            ground="none", gives="friction that grows with slip", lacks="sinkage",
            needs="friction", checked="closed forms", use="first tries",
            valid="no soil in particular",
        ),
    ),
)  # fmt: skip
