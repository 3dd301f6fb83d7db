"""JSON of limited depth and digits, without lone surrogates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from marsyard.errors import InputError
from marsyard.files.regular import read_text

LONGEST_NUMBER = 60  # digits of a whole number


def read_json(path: str | Path, name: str | None = None) -> Any:
    """The value of a JSON file."""
    return parse_json(read_text(path, "json", name), str(path) if name is None else name)


def parse_json(text: str | bytes, name: str) -> Any:
    """The value of a JSON text; errors name it by `name`."""
    try:
        value = json.loads(text, parse_int=_whole)
        # every text can be written again
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InputError(f"{name}: not valid JSON (it is nested too deeply)") from None
    except (UnicodeEncodeError, UnicodeDecodeError):
        raise InputError(f"{name}: not valid JSON (it holds half of a character)") from None
    except ValueError as error:
        raise InputError(f"{name}: not valid JSON ({error})") from None
    return value


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)
