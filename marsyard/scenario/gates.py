"""Gates: pairs of posts that a rover is to drive through, one after another."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from marsyard.fields import Part
from marsyard.units import Angle, Length


class Gate(Part):
    """Two posts. It is passed when the rover crosses the line between them along `heading`, with
    all its wheels and tracks between the posts."""

    centre: tuple[Length, Length] = Field(description="x, y of the middle between the posts [m]")
    heading: Angle = Field(0.0, description="direction in which it is passed [rad]")
    width: Annotated[Length, Field(gt=0)] = Field(
        2.0, description="between the posts [m]; the rover's wheels must fit in"
    )

    def posts(self) -> np.ndarray:
        """Places of the left and the right post [m], shape [2, 2]."""
        left = np.array([-np.sin(self.heading), np.cos(self.heading)])
        return np.array(self.centre) + 0.5 * self.width * np.array([left, -left])
