"""The whole state of a simulation: what must be kept to go on as if nothing had happened."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marsyard.errors import InputError
from marsyard.files.arrays import load_arrays
from marsyard.interaction.law import must_fit


@dataclass(frozen=True)
class State:
    """Named arrays: positions, velocities, step count, warm start, held commands, sums.

    Two states with the same `hash` continue identically, bit for bit, in the same world.
    """

    arrays: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        """As a terminal shows it."""
        size = sum(a.nbytes for a in self.arrays.values()) / 1e6
        return f"State(step {self.time_step}, {len(self.arrays)} arrays of {size:.3g} MB)"

    @property
    def time_step(self) -> int:
        """Steps done since the start."""
        return int(self.arrays["counters"][0])

    def must_fit(self, own: Mapping[str, np.ndarray]) -> None:
        """Raise an error if the state lacks these arrays or has different ones."""
        must_fit(self.arrays, own)

    def hash(self) -> str:
        """SHA-256 of names, types, shapes and bytes of all arrays."""
        digest = hashlib.sha256()
        for name in sorted(self.arrays):
            array = np.ascontiguousarray(self.arrays[name])
            digest.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write to a .npz file, atomically."""
        path = Path(path)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, allow_pickle=False, **dict(self.arrays))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | Path) -> State:
        """Read what `save` wrote."""
        try:
            arrays = load_arrays(path, "state")
        except InputError as error:
            said = str(error).removeprefix(f"{path}: ")
            raise InputError(f"{path}: is not a saved state ({said})") from None
        if not isinstance(arrays, dict) or "counters" not in arrays:
            raise InputError(f"{path}: is not a saved state")
        return cls(arrays)
