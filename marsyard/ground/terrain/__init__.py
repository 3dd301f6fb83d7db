"""The undisturbed terrain: a height and a soil at every place, from layers that add up."""

from marsyard.ground.terrain.terrain import Terrain, build_terrain

__all__ = ["Terrain", "build_terrain"]
