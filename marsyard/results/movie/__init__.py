"""Movies and still images of a run, rendered without a display.

`marsyard.results` has `write_movie` and `write_still`, the command line `marsyard movie`. `take` is
the run at any time, `camera` where the camera stands, `stage` what is drawn, `graphics` with which
library, `overlay` what is written into it, `encode` the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.results.movie.movie import Movie, Shot, write_movie, write_still

_HOME = {"Movie": "movie", "Shot": "movie", "write_movie": "movie", "write_still": "movie"}

__all__ = ["Movie", "Shot", "write_movie", "write_still"]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
