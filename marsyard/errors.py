"""The errors a user can cause, said in one sentence.

`InputError` is raised for anything a user wrote that cannot be used: an unknown name, a wrong
unit, a negative mass. Its text names the field and what is allowed. The command line prints it
without a traceback and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class InputError(ValueError):
    """Something in the input cannot be used; the message says what and what is allowed."""


def check_path(path: object, field: str) -> None:
    """Refuse a path that no file or folder can have."""
    if "\0" in str(path):
        raise InputError(f"{field}: {str(path)!r} holds a NUL character; no file can be called so")


def suggest(name: str, valid: Iterable[str], count: int = 3) -> str:
    """The end of an error sentence that offers the valid names nearest to `name`."""
    names = [str(v) for v in valid]
    near = difflib.get_close_matches(str(name), names, n=count, cutoff=0.5)
    if not near and len(str(name)) > 2:
        near = [n for n in names if n.lower().startswith(str(name).lower())][:count]
    if near:
        return "did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
    if not names:
        return "there are none."
    if len(names) <= 12:
        return "valid: " + ", ".join(names) + "."
    return "valid: " + ", ".join(names[:12]) + ", …"


def told(error: BaseException) -> str:
    """An error of another's code, its kind and words in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def few(names: Sequence[str], most: int = 4) -> str:
    """Names for a sentence: the first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
