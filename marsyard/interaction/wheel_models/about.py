"""What the wheel models say of themselves."""

from marsyard.interaction.about import WHEEL, About


def _model(name: str, title: str, text: str) -> About:
    return About(name, WHEEL, title, text, f"wheel-models/{name.replace('_', '-')}")


LAWS = (
    _model("wong_reece", "Wong and Reece's stresses over the wheel's arc",
           "stresses over the arc, shear along the wheel"),
    _model("ishigami", "Ishigami's stresses, shear along and across apart",
           "the same, and shear across it"),
    _model("ding", "Ding's closed form", "a closed form of such integrals"),
    _model("magic_formula", "Pacejka's curves", "fitted curves of tyres"),
    _model("rigid_slip", "friction that grows with slip, no soil",
           "friction that grows with slip, on a rigid surface"),
)  # fmt: skip
