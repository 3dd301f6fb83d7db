"""How converged the scenarios of the library are: halving grid and step moves no checked number by
more than its tolerance. A few fast ones always, all others with `make soak`."""

import pytest

from marsyard import library, run
from marsyard.scenario import load_scenario

FAST = (
    "rt0448/test-1-restitution", "rt0448/test-7", "rashid/obstacle", "roburoc/step", "walker/slope",
    "tracked/sand",
)  # fmt: skip
#: not converged yet, on the grid and step they have
NOT_YET: dict[str, str] = {
    "tracked/step": "the height on top moves by 12 mm with half the step, ± 10 mm are allowed",
}
#: estimated to take hours
TOO_LONG: tuple[str, ...] = ()


def with_checks():
    for name in library.names("scenarios"):
        if name not in TOO_LONG and load_scenario(name).report.checks:
            marks = [] if name in FAST else [pytest.mark.soak]
            if name in NOT_YET:
                marks.append(pytest.mark.xfail(reason=NOT_YET[name], strict=True))
            yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", with_checks())
def test_halving_grid_and_step_keeps_checked_numbers(name):
    found = run(name, study=False, check_convergence=True).convergence
    assert not any(found.stopped)
    far = [f"{n.name}: {n.changes}, ± {n.allowed}" for n in found.numbers
           if n.checked and not n.converged]  # fmt: skip
    assert not far, "; ".join(far)
