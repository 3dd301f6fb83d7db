"""Errors caused by users, reported in one sentence.

`InputError` is raised for anything a user wrote that cannot be used: an unknown name, a wrong
unit, a negative mass. Its text names the field and what is allowed. The command line prints it
without a traceback and exits with code 2.

Whatever a message quotes, it is one line of printable characters, shorter than 400.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable, Sequence

_LONGEST = 395  # characters of a message
_WORD = 160  # of a word in it
_QUOTED = 80  # of a value of the user's


class InputError(ValueError):
    """Something in the input cannot be used; the message says what and what is allowed."""

    def __init__(self, text: object = "") -> None:
        super().__init__(one_line(str(text)))


def one_line(text: str) -> str:
    """A text in one line of printable characters; long words and texts lose their middle."""
    flat = "".join(c if c.isprintable() else _escape(c) for c in " ".join(text.split()))
    flat = re.sub(rf"\S{{{_WORD + 1},}}", lambda word: clip(word.group(), _WORD), flat)
    return clip(flat, _LONGEST)


def clip(text: object, most: int = _QUOTED) -> str:
    """A text; of a long one the beginning and the end."""
    text = str(text)
    end = most // 4
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


def quote(value: object) -> str:
    """A value of the user's as Python writes it; of a large one a part."""
    return clip(_SHORT.repr(value))


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 4, _QUOTED, 40, _QUOTED


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def refuse_all(
    mistakes: Sequence[tuple[str, str]],
    total: int,
    where: str,
    what: str = "runs cannot start",
) -> None:
    """Raise one error for all of `total` runs or values that are wrong; `mistakes` are labels and
    reasons, `where` begins the sentence. Nothing happens where there are none."""
    if not mistakes:
        return
    if len(mistakes) == 1:
        label, reason = mistakes[0]
        raise InputError(f"{where} at {label}: {reason}")
    head = f"{where}: {len(mistakes)} of {total} {what}: "
    # lists of all valid names would fill the sentence
    brief = [re.sub(r"[;.] valid: .*$", "", reason).rstrip(".") for _, reason in mistakes]
    each = "; ".join(f"{m[0]} ({reason})" for m, reason in zip(mistakes, brief, strict=True))
    if len(head + each) > _LONGEST:
        each = f"{', '.join(label for label, _ in mistakes)}; the first: {mistakes[0][1]}"
    raise InputError(head + each)


def check_path(path: object, field: str) -> None:
    """Refuse a path that no file or folder can have, or that cannot be written in a message."""
    if "\0" in str(path):
        raise InputError(
            f"{field}: {str(path)!r} contains a NUL character, which file names cannot contain"
        )
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{field}: {str(path)!r} is not UTF-8 text; rename it") from None


def suggest(name: str, valid: Iterable[str], count: int = 3) -> str:
    """The end of an error sentence that offers the valid names nearest to `name`."""
    names = [str(v) for v in valid]
    # nothing that long is meant
    name = clip(name, 200)
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


def format_exception(error: BaseException) -> str:
    """An error of another's code, its kind and words in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def few(names: Sequence[str], most: int = 4) -> str:
    """Names for a sentence: the first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
