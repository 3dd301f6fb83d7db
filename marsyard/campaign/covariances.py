"""`ground.0.soil: covariance` in a study: the numbers of a soil, drawn jointly.

The entry is replaced by one parameter with a distribution per number, and by their correlation
(`operations.uncertain.numbers_of`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marsyard.campaign.base import Base
from marsyard.campaign.study_file import DRAWN, StudyFile, Varied
from marsyard.errors import InputError
from marsyard.operations.distributions import COVARIANCE, Joint, numbers_of
from marsyard.scenario.short_names import full_path


def expand_covariances(
    study: StudyFile, name: str, data: Mapping[str, Any]
) -> tuple[StudyFile, tuple[Joint, ...]]:
    """The study with soils' numbers in place of `covariance`, and their correlations."""
    soils = [key for key, varied in study.vary.items() if varied.distribution == COVARIANCE]
    if not soils:
        return study, ()
    try:
        fixed = {full_path(path, data): value for path, value in study.set.items()}
        base = Base(study.scenario, data, fixed, [])
        vary: dict[str, Varied] = {}
        joints = []
        for key, varied in study.vary.items():
            if key not in soils:
                vary[key] = varied
                continue
            numbers, joint = _numbers(key, varied, study, base)
            vary |= numbers
            joints.append(joint)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return study.model_copy(update={"vary": vary}), tuple(joints)


def _numbers(
    key: str, varied: Varied, study: StudyFile, base: Base
) -> tuple[dict[str, Varied], Joint]:
    """The numbers of one soil as parameters by path."""
    field = f"vary.{key}"
    if study.design.kind not in DRAWN:
        raise InputError(
            f"{field}: covariance needs a random design, e.g. latin_hypercube, not "
            f"{study.design.kind}"
        )
    if study.design.kind == "saltelli":
        raise InputError(
            f"{field}: saltelli needs independent parameters, but those of a covariance are "
            f"correlated; use another design"
        )
    path = varied.path or (key,)
    if len(path) != 1:
        raise InputError(f"{field}: covariance takes the path of one soil")
    found, joint = numbers_of(base.soil(path[0], field), path[0], field)
    for number in found:
        if number in study.vary:
            raise InputError(f"vary.{number}: is part of the covariance of {path[0]}; drop one")
    return {
        p: Varied(distribution=f"{d.kind}({', '.join(repr(float(a)) for a in d.arguments)})")
        for p, d in found.items()
    }, joint
