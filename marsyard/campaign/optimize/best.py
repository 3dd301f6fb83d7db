"""The best candidates as scenarios for `marsyard run`.

Of a front of many, `MOST` are written that lie far apart, the best in each objective among them.
Where a candidate changes the robot's design, its scenario says so (`robot.design`), and the robot
of that design is written beside it as a folder (robot.xml, robot.yaml) for other tools.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marsyard.campaign.base import varied
from marsyard.campaign.optimize.pareto import spread
from marsyard.files.replacing import replacing
from marsyard.scenario.packing import write_scenario

if TYPE_CHECKING:
    from marsyard.campaign.optimize.running import Optimized
    from marsyard.scenario import Scenario

#: candidates of a front that are written
MOST = 10


def best_of(found: Optimized) -> list[int]:
    """Candidates that are written, by the first objective."""
    front = found.front
    if not front:
        return []
    signs = [o.sign for o in found.study.objectives]
    values = np.array([found.candidates[k].score.objectives for k in front]) * signs
    _, unique = np.unique(values, axis=0, return_index=True)
    front = [front[k] for k in sorted(unique)]
    return [front[k] for k in spread(values[sorted(unique)], MOST)]


def write_best(found: Optimized, folder: Path) -> dict[int, list[Path]]:
    """Write scenarios of the best candidates; their files by candidate."""
    shutil.rmtree(folder, ignore_errors=True)
    written: dict[int, list[Path]] = {}
    for k in best_of(found):
        written[k] = []
        members = found.problem.members(found.candidates[k].values)
        for member in (m for m in members if m.replica == 0):
            case, given = member.case, found.study.all_cases[member.case]
            scenario = varied(given.scenario, found.problem.bases[case], member.settings["set"])
            name = f"candidate-{k:04d}" + (f"-{case}" if found.study.cases else "")
            title = f"{scenario.title or given.scenario}: candidate {k} of {found.problem.name}"
            path = folder / f"{name}.yaml"
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as part:
                write_scenario(_without_checks(scenario, title), part)
            written[k].append(path)
        _write_robot(scenario, folder / f"candidate-{k:04d}-robot")
    return written


def _without_checks(scenario: Scenario, title: str) -> Scenario:
    """What a scenario expects is of its own values, not of a candidate's."""
    report = scenario.report.model_copy(update={"checks": ()})
    return scenario.model_copy(update={"title": title, "report": report})


def _write_robot(scenario: Scenario, folder: Path) -> None:
    """The robot of a design as a folder of its own."""
    from marsyard.robot import write_designed
    from marsyard.simulation.world import robot_of

    if scenario.robot.design.model_dump(exclude_defaults=True):
        write_designed(robot_of(scenario), folder)
