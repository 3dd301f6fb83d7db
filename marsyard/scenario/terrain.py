"""The schema of terrains: `library/grounds/NAME.yaml`, or the key `terrain`.

A terrain is the undisturbed ground as a height over the plane: the heights of its `layers` added
up, a soil by place, and, where it ends, its bounds. Numbers are SI; texts may carry a unit. World
frame: x east, y north, z up; a heading of 0 is +x, of 90° is +y.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_serializer, field_validator, model_validator

from marsyard.fields import Part, Point, Slope
from marsyard.scenario.plugin import PluginLayer
from marsyard.units import Angle, Length, Number

Point2 = tuple[Length, Length]
Span = tuple[Length, Length]
Rectangle = tuple[Span, Span]
Above = Annotated[Length, Field(gt=0)]
Seed = Annotated[int, Field(ge=0)]


def _rectangle(value: Rectangle | None) -> Rectangle | None:
    if value is not None:
        for axis, (low, high) in zip("xy", value, strict=True):
            if not low < high:
                raise ValueError(f"{axis} runs from {low:g} to {high:g} m; the first must be lower")
    return value


class Circle(Part):
    """A circle seen from above."""

    centre: Point2 = Field((0.0, 0.0), description="[m]")
    radius: Above = Field(description="[m]")


# --- shapes with a closed form


class PlaneLayer(Part):
    """A plane through `through` that rises by `slope` towards the heading `uphill`."""

    kind: Literal["plane"]
    through: Point = Field((0.0, 0.0, 0.0), description="a point of the plane [m]")
    slope: Slope = Field(0.0, description="inclination, from 0 to below 90° [rad]")
    uphill: Angle = Field(0.0, description="heading of steepest ascent, 0 = +x, 90° = +y [rad]")


class StepLayer(Part):
    """A rise by `height` where the distance along `heading` passes `position`."""

    kind: Literal["step"]
    position: Length = Field(0.0, description="start, along the heading [m]")
    height: Length = Field(description="height of the step; negative for a drop [m]")
    heading: Angle = Field(0.0, description="direction of ascent, 0 = +x [rad]")
    ramp: Annotated[Length, Field(ge=0)] = Field(
        0.0, description="length of the ramp; 0: a vertical face [m]"
    )


class BumpLayer(Part):
    """A round bump, height · cos²(π r / 2 radius) within the radius: smooth at top and foot."""

    kind: Literal["bump"]
    centre: Point2 = Field((0.0, 0.0), description="[m]")
    radius: Above = Field(description="radius of its base [m]")
    height: Length = Field(description="height; negative for a hollow [m]")


class SineLayer(Part):
    """Waves, amplitude · sin(2π s / wavelength + phase), s the distance along `heading`."""

    kind: Literal["sine"]
    amplitude: Length = Field(description="half the height from trough to crest [m]")
    wavelength: Above = Field(description="[m]")
    heading: Angle = Field(0.0, description="direction across the crests, 0 = +x [rad]")
    phase: Angle = Field(0.0, description="[rad]")


# --- generated


class FractalLayer(Part):
    """A fractional Brownian surface: the RMS height difference of two points at the distance d is
    roughness · (d / lag)^hurst. Made on a square patch that continues endlessly without seams."""

    kind: Literal["fractal"]
    hurst: Annotated[Number, Field(gt=0, lt=1)] = Field(
        description="Hurst exponent H; 0.5 is usual for natural ground, higher is smoother"
    )
    roughness: Annotated[Length, Field(ge=0)] = Field(
        description="RMS height difference of points `lag` apart (Allan deviation) [m]"
    )
    lag: Above = Field(1.0, description="distance to which the roughness refers [m]")
    spacing: Above = Field(
        0.1,
        description="grid spacing, half of the smallest wavelength [m]; adjusted so that an even "
        "number fits into the patch"
        "",
    )
    patch: Above = Field(51.2, description="side length of the repeated square [m]")
    longest: Above | None = Field(
        None,
        description="longest wavelength [m], to add roughness to an elevation map that contains "
        "the longer ones; default: the size of the patch, including the relief of "
        "longer wavelengths"
        "",
    )
    seed: Seed | None = Field(
        None, description="seed; default: derived from the terrain's seed and the layer"
    )

    @model_validator(mode="after")
    def _sizes(self) -> FractalLayer:
        if self.patch < 8 * self.spacing:
            raise ValueError("patch must be at least 8 spacings long")
        if self.patch > 4096 * self.spacing:
            raise ValueError("patch must be at most 4096 spacings long (it is kept in memory)")
        if not 2 * self.spacing <= self.lag <= self.patch / 2:
            raise ValueError(
                f"lag = {self.lag:g} m must lie between two spacings ({2 * self.spacing:g} m) and "
                f"half the patch ({self.patch / 2:g} m)"
            )
        if self.longest is not None and not 4 * self.spacing <= self.longest <= self.patch:
            raise ValueError("longest must lie between 4 spacings and the patch")
        return self


class CraterLayer(Part):
    """One simple crater: a bowl of revolution, a sharp rim and ejecta that fall off as r⁻³."""

    kind: Literal["crater"]
    centre: Point2 = Field((0.0, 0.0), description="[m]")
    diameter: Above = Field(description="from rim crest to rim crest [m]")
    depth_ratio: Annotated[Number, Field(gt=0, le=0.5)] = Field(
        0.196, description="depth below the rim crest over diameter; fresh: 0.196 (Pike 1977)"
    )
    rim_ratio: Annotated[Number, Field(ge=0)] | None = Field(
        None,
        description="rim height above the plain over diameter; default 0.1837 of the depth ratio, "
        "0.036 for a fresh crater (Pike 1977)",
    )

    @model_validator(mode="after")
    def _rim_below_depth(self) -> CraterLayer:
        if self.rim_ratio is not None and self.rim_ratio > self.depth_ratio:
            raise ValueError("rim_ratio must not exceed depth_ratio")
        return self


class _Population(Part):
    area: Rectangle = Field(
        ((-20.0, 20.0), (-20.0, 20.0)), description="area: x from, to; y from, to [m]"
    )
    repeat: bool = Field(False, description="repeat the area periodically, without seams")
    clear: tuple[Circle, ...] = Field(
        (), description="circles without any, e.g. where a rover starts"
    )
    seed: Seed | None = Field(
        None, description="seed; default: derived from the terrain's seed and the layer"
    )

    _area = field_validator("area")(_rectangle)


class CratersLayer(_Population):
    """A population of craters: on average density · (D / 1 m)^−exponent of diameter D or more per
    square metre. Centres are spread evenly; where craters overlap their heights add up."""

    kind: Literal["craters"]
    density: Annotated[Number, Field(gt=0)] = Field(
        0.077,
        description="craters of 1 m diameter or more, extrapolated, per m²; default: 5 % of "
        "geometric saturation, 1.54 (Gault 1970)",
    )
    exponent: Annotated[Number, Field(gt=0, le=6)] = Field(
        2.0,
        description="exponent of the cumulative power law; 2 in equilibrium, about 2.8 to 3 "
        "for young surfaces",
    )
    smallest: Above = Field(description="diameter [m]")
    largest: Above = Field(description="diameter [m]")
    depth_ratio: tuple[
        Annotated[Number, Field(gt=0, le=0.5)], Annotated[Number, Field(gt=0, le=0.5)]
    ] = Field(
        (0.04, 0.196),
        description="least and greatest depth over diameter, for old and fresh craters; uniformly "
        "distributed in between (assumed)"
        "",
    )

    @model_validator(mode="after")
    def _ordered(self) -> CratersLayer:
        if not self.smallest < self.largest:
            raise ValueError("smallest must be below largest")
        if self.depth_ratio[0] > self.depth_ratio[1]:
            raise ValueError("depth_ratio: the first must not exceed the second")
        return self


class RocksLayer(_Population):
    """A field of rocks: the share of the ground covered by rocks of diameter D or more is
    coverage · exp(−q D), q = 1.79 + 0.152 / coverage per metre (Golombek and Rapp 1997). Rocks are
    upper halves of ellipsoids and do not overlap."""

    kind: Literal["rocks"]
    coverage: Annotated[Number, Field(gt=0, le=0.4)] = Field(
        description="share k of the ground covered by rocks of all sizes"
    )
    smallest: Above = Field(0.05, description="smallest diameter [m]")
    largest: Above = Field(2.0, description="largest diameter [m]")
    height_ratio: Annotated[Number, Field(gt=0, le=2)] = Field(
        0.5, description="height above the ground over diameter (half of a ball)"
    )
    elongation: Annotated[Number, Field(ge=1, le=3)] = Field(
        1.5,
        description="length over width, seen from above, uniformly distributed from 1 to this "
        "value (assumed)",
    )
    soil: str = Field("rock", min_length=1, description="soil at rocks")

    @model_validator(mode="after")
    def _ordered(self) -> RocksLayer:
        if not self.smallest < self.largest:
            raise ValueError("smallest must be below largest")
        return self


# --- measured

LengthUnit = Literal["m", "mm", "cm", "km", "ft", "us_ft"]
HorizontalUnit = Literal["m", "mm", "cm", "km", "ft", "us_ft", "deg"]
MapOrigin = Literal["corner", "centre", "map"]


class _Grid(Part):
    interpolation: Literal["linear", "cubic"] = Field(
        "linear",
        description="between grid points: linear (bilinear, stays within the data) or cubic "
        "(bicubic spline, smooth slopes, may overshoot)",
    )
    holes: Literal["error", "fill"] = Field(
        "error",
        description="points without a height: an error, or interpolated from their neighbours "
        "(Laplace's equation)"
        "",
    )


class ArrayLayer(_Grid):
    """Heights on a grid, given from Python: values[j, i] at x = origin.x + i · spacing and
    y = origin.y + j · spacing, so the first row is the southern one."""

    kind: Literal["array"]
    values: Any = Field(
        description="heights [m], shape [rows, columns]; or the path of an .npy file of them"
    )
    spacing: Above = Field(description="grid spacing [m]")
    origin: Point2 = Field((0.0, 0.0), description="position of values[0, 0] [m]")

    @field_serializer("values", when_used="json")
    def _as_lists(self, values: Any) -> Any:
        return values.tolist() if hasattr(values, "tolist") else values


class FileLayer(_Grid):
    """Heights from a file: a raster (GeoTIFF and what else rasterio reads), a grid of numbers
    (.csv, .txt, .npy, .npz), points (.xyz, or .csv with three columns), a picture (.png)."""

    kind: Literal["file"]
    file: str = Field(
        description="path, relative to the folder of this file or to the working directory"
    )
    band: Annotated[int, Field(ge=1)] = Field(1, description="band of a raster, from 1")
    unit: LengthUnit | None = Field(
        None,
        description="unit of the heights in the file; default: as stated by its band or vertical "
        "axis, feet where x and y are in feet, otherwise m"
        "",
    )
    scale: Annotated[Number, Field(gt=0)] = Field(1.0, description="scale factor of the heights")
    heights: Span | None = Field(
        None, description="for a picture: heights of black and white [m], instead of scale"
    )
    nodata: Number | None = Field(
        None, description="value that marks missing heights, if the file does not define it"
    )
    spacing: Above | None = Field(
        None, description="spacing of grid points, if the file does not define it [m]"
    )
    horizontal_unit: HorizontalUnit = Field(
        "m",
        description="unit of x and y, if the file does not define it; deg: longitude and "
        "latitude, with body_radius"
        "",
    )
    first_row: Literal["north", "south"] = Field(
        "north", description="side of the first row, if the file does not define it"
    )
    window: Rectangle | None = Field(
        None,
        description="part to read, in the file's own coordinates: x from, to; y from, to [m], or "
        "degrees of a map in degrees",
    )
    origin: MapOrigin | Point2 = Field(
        "corner",
        description="point placed at x = y = 0 of the world: the lower left corner of the window, "
        "its centre, a point in the file's coordinates [m], or map to keep these "
        "coordinates"
        "",
    )
    datum: Literal["file", "origin"] | Length = Field(
        "file",
        description="height placed at z = 0: the file's zero, the height at the origin, or a "
        "number [m]"
        "",
    )
    body_radius: Above | None = Field(
        None,
        description="for maps in degrees: radius of the planet [m], for conversion to metres with "
        "the scale at the centre of the window"
        "",
    )

    _window = field_validator("window")(_rectangle)

    @model_validator(mode="after")
    def _one_scale(self) -> FileLayer:
        if self.heights is not None and (self.scale != 1.0 or self.unit is not None):
            raise ValueError("give either 'heights' or 'scale' and 'unit', not both")
        return self


class MeshLayer(Part):
    """A surface of triangles (STL, OBJ, PLY): the height is that of the highest one above or below
    a place."""

    kind: Literal["mesh"]
    file: str = Field(
        description="path, relative to the folder of this file or to the working directory"
    )
    scale: Annotated[Number, Field(gt=0)] = Field(1.0, description="its unit of length in metres")
    offset: Point = Field(
        (0.0, 0.0, 0.0), description="offset added to its points after scaling [m]"
    )
    outside: Length | None = Field(
        None,
        description="height where there is no triangle [m]; default: the terrain ends at the "
        "mesh's bounding rectangle, and holes in it are errors",
    )


Layer = Annotated[
    PlaneLayer | StepLayer | BumpLayer | SineLayer | FractalLayer | CraterLayer | CratersLayer
    | RocksLayer | ArrayLayer | FileLayer | MeshLayer | PluginLayer,
    Field(discriminator="kind"),
]  # fmt: skip

# --- soil by place


class CirclePlace(Circle):
    """A soil within a circle."""

    kind: Literal["circle"]
    soil: str = Field(min_length=1, description="name of a soil")


class PolygonPlace(Part):
    """A soil within a polygon (even-odd rule where its edges cross)."""

    kind: Literal["polygon"]
    soil: str = Field(min_length=1, description="name of a soil")
    points: tuple[Point2, ...] = Field(min_length=3, description="corners [m]")


class BandPlace(Part):
    """A soil within a radius of a line through points, as a round brush paints it."""

    kind: Literal["band"]
    soil: str = Field(min_length=1, description="name of a soil")
    points: tuple[Point2, ...] = Field(min_length=2, description="points of the line [m]")
    radius: Above = Field(description="half the width [m]")


SoilPlace = Annotated[CirclePlace | PolygonPlace | BandPlace, Field(discriminator="kind")]


class SoilMap(Part):
    """A soil by the value of a raster or the colour of a picture, nearest pixel."""

    file: str = Field(description="raster, picture or .npy; path as for a file layer")
    legend: dict[str, str | None] = Field(
        min_length=1,
        description="soil by value (1: dry_sand) or by colour ('#c08040': dry_sand); null for the "
        "terrain's own soil; unlisted values are an error"
        "",
    )
    band: Annotated[int, Field(ge=1)] = Field(1, description="band of a raster, from 1")
    spacing: Above | None = Field(
        None, description="pixel spacing, if the file does not define it [m]"
    )
    first_row: Literal["north", "south"] = Field(
        "north", description="side of the first row, if the file does not define it"
    )
    horizontal_unit: HorizontalUnit = Field("m", description="as of a file layer")
    window: Rectangle | None = Field(None, description="as of a file layer")
    origin: MapOrigin | Point2 = Field("corner", description="as of a file layer")
    body_radius: Above | None = Field(None, description="as of a file layer")

    _window = field_validator("window")(_rectangle)

    @field_validator("legend", mode="before")
    @classmethod
    def _text_keys(cls, value: Any) -> Any:
        return {str(k): v for k, v in value.items()} if isinstance(value, dict) else value


class TerrainSpec(Part):
    """A terrain: layers whose heights add up, and soils by place."""

    name: str = Field(
        "", description="ground of the library or file it was read from, for information"
    )
    title: str = Field("", description="short title")
    description: str = Field("", description="what it is, and how the sources were interpreted")
    sources: tuple[str, ...] = Field((), description="source")
    layers: tuple[Layer, ...] = Field(
        (), description="layers, whose heights are added; none: level at 0"
    )
    soil: str | None = Field(
        None, min_length=1, description="default soil, where no place, map or rock defines another"
    )
    places: tuple[SoilPlace, ...] = Field(
        (), description="soil by place; later places override earlier ones"
    )
    soil_map: SoilMap | None = Field(None, description="soil from a map, overridden by places")
    bounds: Rectangle | None = Field(
        None,
        description="extent of the terrain: x from, to; y from, to [m]; default: that of its "
        "files, or unlimited"
        "",
    )
    seed: Seed = Field(0, description="seed of everything random in it")

    _bounds = field_validator("bounds")(_rectangle)
