"""Contacts and joints of a robot in a pose.

Everything is in the platform's frame (x forward, y left, z up), at its origin. Contact i moves with

    u_i = wrenches_i · X + rates_i · q̇        (normal, along, left) [m/s]

where X = (v, ω) is the platform's twist and q̇ the joints' rates: a unit force at the contact, as a
wrench on the platform, takes the velocity of the contact along it out of a twist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from marsyard.errors import InputError, suggest

Lateral = Literal["slips", "holds"]
NORMAL, ALONG, LEFT = range(3)


class Contacts(Protocol):
    """A robot in a pose on its contacts, in the platform's frame.

    contacts: names [n]. wrenches [n, 3, 6]: unit forces (normal, along, left) on the platform.
    radius [m], shape [n]. joints: names [k]. rates [n, 3, k]: velocity of the wheel's material
    contact point per unit joint rate. driven [k]: joints with motors.
    closures [m, k]: closures · q̇ = 0. chain [n, k]: joint lies between platform and contact.
    """

    @property
    def contacts(self) -> Sequence[str]: ...
    @property
    def wrenches(self) -> np.ndarray: ...
    @property
    def radius(self) -> np.ndarray: ...
    @property
    def joints(self) -> Sequence[str]: ...
    @property
    def rates(self) -> np.ndarray: ...
    @property
    def driven(self) -> np.ndarray: ...
    @property
    def closures(self) -> np.ndarray: ...
    @property
    def chain(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Arrays:
    """Contacts as plain arrays."""

    contacts: Sequence[str]
    wrenches: np.ndarray
    radius: np.ndarray
    joints: Sequence[str]
    rates: np.ndarray
    driven: np.ndarray
    closures: np.ndarray
    chain: np.ndarray


def hold(stance: Contacts, names: Iterable[str]) -> Arrays:
    """The same with joints held (locked motors, brakes, stops): they are no joints any more."""
    held = set(names)
    for name in held:
        if name not in stance.joints:
            raise InputError(f"held: there is no joint '{name}'; {suggest(name, stance.joints)}")
    keep = [k for k, name in enumerate(stance.joints) if name not in held]
    return Arrays(
        contacts=stance.contacts,
        wrenches=np.asarray(stance.wrenches, float),
        radius=np.asarray(stance.radius, float),
        joints=[stance.joints[k] for k in keep],
        rates=np.asarray(stance.rates, float)[:, :, keep],
        driven=np.asarray(stance.driven, bool)[keep],
        closures=closures_of(stance)[:, keep],
        chain=np.asarray(stance.chain, bool)[:, keep],
    )


def contact_points(stance: Contacts) -> np.ndarray:
    """Points of the contacts [m], shape [n, 3]: p = ½ Σ s × (p × s) over three unit directions."""
    W = np.asarray(stance.wrenches, float)
    return 0.5 * np.sum(np.cross(W[..., :3], W[..., 3:]), axis=1)


def stance_length(stance: Contacts) -> float:
    """Characteristic length [m]: root mean square distance of the contacts from their centre.

    The mean radius where all contacts coincide.
    """
    points = contact_points(stance)
    spread = float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))
    return spread if spread > 0 else float(np.mean(stance.radius))


def lateral_holds(stance: Contacts, lateral: Lateral | Sequence[bool]) -> np.ndarray:
    """Whether each contact holds sideways, shape [n]."""
    if isinstance(lateral, str):
        if lateral not in ("slips", "holds"):
            raise InputError(f"lateral is '{lateral}' but must be 'slips' or 'holds'")
        return np.full(len(stance.contacts), lateral == "holds")
    holds = np.asarray(lateral, bool)
    if holds.shape != (len(stance.contacts),):
        raise InputError(f"lateral has {holds.size} entries but there are {len(stance.contacts)}")
    return holds


def closures_of(stance: Contacts) -> np.ndarray:
    """Closures, shape [m, k], also where there are none."""
    return np.asarray(stance.closures, float).reshape(-1, len(stance.joints))


def rates_of(stance: Contacts, tolerance: float) -> np.ndarray:
    """Rates [n, 3, k] with zeros in place of entries below a share of the largest."""
    rates = np.array(stance.rates, float)
    rates[np.abs(rates) < tolerance * np.abs(rates).max(initial=0.0)] = 0.0
    return rates
