"""What the laws of interaction say of themselves, before anything of them is loaded.

Every folder beside this file that holds a law, or several, has a module `about` with `LAWS`. The
schema of scenarios, the check of integrators, comparisons, `marsyard list` and the engine ask here;
none of them names a law. What a scenario may say to a law is in its module `options`
(`interaction.options`).
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = "marsyard.interaction"
#: what a law is for: soil under whatever touches it, soil under wheels, hard ground
SOIL, WHEEL, HARD = KINDS = ("soil", "wheel", "hard")
#: elastic parts of a robot, which act where the robot has them
ROBOT = "robot"
#: the key of a scenario that picks a law of each kind
KEYS = {
    SOIL: "interaction.soil.model",
    WHEEL: "interaction.wheel.model",
    HARD: "interaction.law",
}
#: the scheme that knows all laws, and those of MuJoCo, which know only its own contact
OURS = ("moreau_jean",)
MUJOCOS = ("semi_implicit", "implicit_damping")


class Guide(NamedTuple):
    """A law's entries in the tables of docs/choosing.md, in Markdown."""

    ground: str
    gives: str
    lacks: str
    needs: str
    checked: str  # what its results were compared with
    use: str
    valid: str  # range in which it holds


@dataclass(frozen=True)
class About:
    """What a law says of itself."""

    name: str
    kind: str
    title: str  # in a few words, for tables
    text: str  # for the schema
    page: str = ""  # of docs/physics, without ending
    guide: Guide | None = None
    rank: int = 1  # place among the laws of its kind; the default is 0
    integrators: tuple[str, ...] = OURS
    #: the engine's solver finds the forces of the ground, from gaps
    gives_rows: bool = False
    #: robots are placed on hard ground as on a rigid one
    places_as_rigid: bool = False
    #: bodies of the robot meet each other, rigidly
    bodies_collide: bool = False
    #: MuJoCo's own contact acts
    is_mujocos: bool = False
    #: it finds the ground itself
    finds_ground: bool = False
    #: walls below the rims of open meshes, for a law that sees meshes from within [m]
    walls: float = 0.0
    #: its forces couple all degrees of freedom of a body
    couples_freedoms: bool = False
    #: what it knows of hard ground and robots
    meshes: bool = True
    belts: bool = True
    rolling_friction: bool = False
    joint_friction: bool = True
    #: time of a step in which two bodies touch, for estimates before a run [s]
    step_time: float = 5e-6
    #: the grid of its soil keeps the state of columns
    columns: bool = False
    #: elements that a ball of the robot is divided into, by radius [m] and `interaction`
    elements: Any = None
    #: numbers of a soil that it asks for; "modulus" is Bekker's k_c and k_phi or Reece's
    soil_numbers: tuple[str, ...] = ()
    #: memory of such an element, or of a node of its soil, while they are made [B]
    node_bytes: int = 0
    #: what it adds to a record, by body that may touch the ground and by wheel [B]
    record_bytes: tuple[int, int] = (0, 0)

    @property
    def sets(self) -> dict[str, Any]:
        """The settings of a scenario under which it acts."""
        others: dict[str, Any] = {"interaction.plugin": None}
        if self.kind != WHEEL:
            others["interaction.wheel"] = None
        own: dict[str, Any] = {KEYS[self.kind]: self.name}
        if self.kind == HARD:
            own["run.integrator"] = self.integrators[0]
        return {**others, **own}


NONE = About(
    "none", HARD, "no contact with hard ground", "no contact with hard ground", rank=9,
    integrators=(*OURS, *MUJOCOS), step_time=0.0,
)  # fmt: skip


def folders(module: str = "about") -> list[str]:
    """Folders of laws that have a module, those of soil first."""
    package = importlib.import_module(PACKAGE)
    found = []
    for path in (each for root in package.__path__ for each in Path(root).glob("*/about.py")):
        if path.with_name(f"{module}.py").is_file():
            kind = laws_of(path.parent.name)[0].kind
            found.append(((*KINDS, ROBOT).index(kind), path.parent.name))
    return [name for _, name in sorted(found)]


def laws_of(folder: str) -> tuple[About, ...]:
    """The laws of a folder."""
    return tuple(importlib.import_module(f"{PACKAGE}.{folder}.about").LAWS)


@functools.cache
def laws(kind: str) -> dict[str, About]:
    """All laws of a kind, the default first."""
    found = [NONE, *(each for folder in folders() for each in laws_of(folder))]
    own = sorted((each for each in found if each.kind == kind), key=lambda each: each.rank)
    return {each.name: each for each in own}


def all_laws() -> list[About]:
    """All laws, those of hard ground first, the default of each kind before the others."""
    return [each for kind in (HARD, SOIL, WHEEL) for each in laws(kind).values()]


def law_of_hard_ground(scenario: Any) -> About:
    """What acts between a scenario's robot and hard ground."""
    return laws(HARD)[scenario.interaction.law]


def texts(kind: str) -> str:
    """'scm: the soil contact model …; columns: …', for the schema."""
    return "; ".join(f"{name}: {each.text}" for name, each in laws(kind).items())
