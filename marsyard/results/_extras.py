"""Optional packages, imported where they are first used."""

from __future__ import annotations

import importlib
from typing import Any

from marsyard.errors import InputError


def needed(module: str, extra: str) -> Any:
    """An optional package, or one sentence that names the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise InputError(
            f"this needs the package {package}: pip install 'marsyard[{extra}]'"
        ) from None
