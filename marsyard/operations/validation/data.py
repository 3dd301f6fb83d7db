"""A validation as labelled data: `validation.nc`.

Dimensions: run (0 is the nominal one, then the samples), limit, command, span (of time), axis.

| variable | over | is |
| --- | --- | --- |
| value | run, limit, command | with the smallest margin [SI] |
| margin | run, limit, command | what it leaves, as a share of the limit |
| margin_time, margin_x, margin_y | run, limit, command | when [s] and where [m] |
| broken | run, limit, command | 1 if the limit was violated, 0 if not, −1 if it was not judged |
| series | run, limit, span | thinnest value in each span of time [SI] |
| track | run, span, axis | x, y of the base [m] |
| end | run, pose | x, y [m] and heading [rad] where the rover ended |
| began, ended | run, command | of the commands [s] |
| outcome, note | run, command | how they ended, why they failed |
| reason, simulated, unconverged | run | why it failed, its length [s], steps not converged |
| sample, sample_word | run, uncertain | the values that were drawn |

The limit `completion` is that of being carried out; its values are 1 and 0, its margins −1 where it
is broken. Nothing here depends on the machine or the number of processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from marsyard.operations.validation.limits import COMPLETION, Limit
from marsyard.operations.validation.members import BINS, Outcome, Plan
from marsyard.scenario.drive import command_kind


def dataset(
    outcomes: Sequence[Outcome],
    samples: Sequence[Mapping[str, Any]],
    plan: Plan,
    commands: Sequence[Any],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """All that is known of the runs; `samples` of each, the nominal one's is empty."""
    names = [COMPLETION, *(limit.name for limit in plan.limits)]
    done = np.stack([o.carried_out for o in outcomes])[:, None]
    value = np.concatenate([done, _stack(outcomes, "value")], axis=1)
    margin = np.concatenate(
        [
            np.where(done == 0.0, -1.0, np.nan),
            np.stack([_margins(plan.limits, o.value) for o in outcomes]),
        ],
        axis=1,
    )
    broken = np.where(margin < 0, 1, 0).astype(np.int8)
    broken[np.isnan(value)] = -1
    over = ("run", "limit", "command")
    ends = _failed_at(outcomes)
    ds = xr.Dataset(
        {
            "value": (over, value),
            "margin": (over, margin, {"units": "1"}),
            "broken": (over, broken),
            "series": (("run", "limit", "span"), _series(outcomes)),
            "track": (("run", "span", "axis"), _stack(outcomes, "track"), {"units": "m"}),
            "end": (("run", "pose"), _stack(outcomes, "end"), {"units": "m, m, rad"}),
        },
        coords={
            "run": [o.number for o in outcomes],
            "limit": names,
            "limit_words": ("limit", ["carried out", *(x.words for x in plan.limits)]),
            "limit_value": ("limit", [1.0, *(x.value for x in plan.limits)]),
            "command": np.arange(len(commands)),
            "command_kind": ("command", [command_kind(c) for c in commands]),
            "command_note": ("command", [c.note for c in commands]),
            "span": ("span", (np.arange(BINS) + 0.5) * plan.bin, {"units": "s"}),
            "axis": ["x", "y"],
            "pose": ["x", "y", "heading"],
        },
        attrs=dict(attrs),
    )
    for key, units in (("time", "s"), ("x", "m"), ("y", "m")):
        table = np.concatenate([ends[key][:, None], _stack(outcomes, key)], axis=1)
        ds[f"margin_{key}"] = (over, table, {"units": units})
    for key in ("began", "ended"):
        ds[key] = (("run", "command"), _stack(outcomes, key), {"units": "s"})
    for key in ("outcome", "note"):
        ds[key] = (("run", "command"), np.array([getattr(o, key) for o in outcomes], dtype=object))
    ds["reason"] = ("run", np.array([o.reason for o in outcomes], dtype=object))
    ds["simulated"] = ("run", [o.simulated for o in outcomes], {"units": "s"})
    ds["unconverged"] = ("run", [o.unconverged for o in outcomes])
    return _with_samples(ds, samples)


def _stack(outcomes: Sequence[Outcome], key: str) -> np.ndarray:
    return np.stack([getattr(o, key) for o in outcomes])


def _margins(limits: Sequence[Limit], value: np.ndarray) -> np.ndarray:
    rows = [limit.margin(v) for limit, v in zip(limits, value, strict=True)]
    return np.array(rows).reshape(value.shape)


def _series(outcomes: Sequence[Outcome]) -> np.ndarray:
    blank = np.full((len(outcomes), 1, BINS), np.nan)
    return np.concatenate([blank, _stack(outcomes, "series")], axis=1)


def _failed_at(outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
    """When and where commands failed: at their end, or that of the run."""
    n = len(outcomes[0].outcome)
    out = {key: np.full((len(outcomes), n), np.nan) for key in ("time", "x", "y")}
    for i, o in enumerate(outcomes):
        for k in np.flatnonzero(o.carried_out == 0.0):
            ended = float(o.ended[k])
            known = ended if np.isfinite(ended) else o.simulated
            out["time"][i, k], out["x"][i, k], out["y"][i, k] = known, *o.end[:2]
    return out


def _with_samples(ds: xr.Dataset, samples: Sequence[Mapping[str, Any]]) -> xr.Dataset:
    paths = list(dict.fromkeys(p for s in samples for p in s))
    if not paths:
        return ds
    ds = ds.assign_coords(uncertain=paths)
    drawn = [[s.get(p, np.nan) for p in paths] for s in samples]
    numbers = [[np.nan if isinstance(v, str) else float(v) for v in row] for row in drawn]
    ds["sample"] = (("run", "uncertain"), np.array(numbers))
    if any(isinstance(v, str) for row in drawn for v in row):
        words = [[v if isinstance(v, str) else "" for v in row] for row in drawn]
        ds["sample_word"] = (("run", "uncertain"), np.array(words, dtype=object))
    return ds
