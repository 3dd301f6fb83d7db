"""The engine: a scenario made into a world and stepped in a compiled loop."""

from marsyard.lazy import gc_paused

with gc_paused():
    from marsyard.simulation.simulation import (
        Diverged,
        Simulation,
        compile_kernels,
        needs_compiling,
    )
    from marsyard.simulation.state import State
    from marsyard.simulation.world import World, build_world, make_surfaces

__all__ = [
    "Diverged",
    "Simulation",
    "State",
    "World",
    "build_world",
    "compile_kernels",
    "make_surfaces",
    "needs_compiling",
]
