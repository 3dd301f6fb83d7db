"""The editor of virtual environments: ground, soils, rover and start.

    environment   a scenario under edit, with undo, saved as a scenario file
    kinds         what can be made: generated ground, softer soils, fields taken apart
    items         what lies on the ground, as a list
    relief        heights and soils on a grid, and where a ray meets them
    writing       YAML that people read
    checking      whether the scenario can run, in sentences
    scene         the ground, rocks and rover in the browser; panel: the controls beside
    editor        all of it together on a page, `marsyard edit`

As in the interactive virtual planetary rover environment (IVPRE) of L. Ding, H. Gao, Z. Deng, W.
Li: Advances in simulation of planetary wheeled mobile robots, 2011, section 4, ground is put
together from components or loaded as an elevation map, and soil parameters are chosen by place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.operations.editor.checking import check
    from marsyard.operations.editor.editor import Editor, serve_editor
    from marsyard.operations.editor.environment import Environment
    from marsyard.operations.editor.items import Item
    from marsyard.operations.editor.relief import Relief

__all__ = ["Editor", "Environment", "Item", "Relief", "check", "serve_editor"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Editor": "editor",
        "Environment": "environment",
        "Item": "items",
        "Relief": "relief",
        "check": "checking",
        "serve_editor": "editor",
    },
)
