"""Built-in names of expressions; a scenario's parameters add to them.

Kept apart from the machine that evaluates expressions, so that reading a scenario compiles nothing.
"""

from __future__ import annotations

#: names of the base's state, in the order of the array the machine reads
STATE_NAMES = (
    "t", "x", "y", "z", "vx", "vy", "vz", "roll", "pitch", "yaw", "wx", "wy", "wz",
)  # fmt: skip
#: the joint a law acts on (alone, or with a joint's name behind a dot), and numbers
OTHER_NAMES = ("angle", "rate", "pi")
#: functions and how many arguments each takes
FUNCTIONS = {
    "where": 3, "min": 2, "max": 2, "abs": 1, "sqrt": 1, "sin": 1, "cos": 1, "tan": 1, "exp": 1,
    "log": 1, "sign": 1,
}  # fmt: skip
BUILT_IN = (*STATE_NAMES, *OTHER_NAMES, *FUNCTIONS)
