"""Numbers beside axes."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import ScalarFormatter


class PlainNumbers(ScalarFormatter):
    """Plain numbers, and a power of ten common to all of them above the axis.

    Matplotlib typesets every number of such an axis as mathematics, which takes longer than drawing
    its curves; here only the power is.
    """

    def __init__(self, low: int, high: int) -> None:
        super().__init__(useMathText=True)
        self.set_powerlimits((low, high))

    def __call__(self, x: float, pos: Any = None) -> str:
        text = super().__call__(x, pos)
        return self.fix_minus(text.removeprefix(r"$\mathdefault{").removesuffix("}$"))
