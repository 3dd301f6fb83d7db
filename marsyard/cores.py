"""Number of available cores."""

from __future__ import annotations

import os

from marsyard.errors import InputError


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def job_count(jobs: int | None) -> int:
    """How many processes are asked for; None stands for one per core."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs}: must be at least 1")
    return jobs or cores()
