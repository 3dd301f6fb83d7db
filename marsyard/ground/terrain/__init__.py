"""The undisturbed terrain: a height and a soil at every place, from layers that add up."""

from marsyard.ground.terrain.layer import Layer
from marsyard.ground.terrain.survey import Survey, survey, usual_view
from marsyard.ground.terrain.terrain import Terrain, build_terrain

__all__ = ["Layer", "Survey", "Terrain", "build_terrain", "survey", "usual_view"]
