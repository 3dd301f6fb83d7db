"""A run in the formats of other tools: tables, classic NetCDF, MCAP with ROS 2 messages, URDF.

Each format has a module, which knows nothing of the others:

    tables      CSV, Parquet, a pandas data frame
    netcdf      NetCDF 3 with units as UDUNITS spells them
    bag         MCAP with ROS 2 messages (`messages`, `cdr`, `imu`, `terrain`, `inner_links`)
    urdf        the robot's tree as URDF with its meshes

`export` writes those that are asked for. Reading an MCAP file back: `marsyard.results.bags`.
"""

from marsyard.lazy import lazy_names

_HOME = {
    "FORMATS": "exporting",
    "Source": "source",
    "export": "exporting",
    "export_robot": "exporting",
    "to_dataframe": "tables",
    "urdf_of": "urdf",
    "write_bag": "bag",
    "write_urdf": "urdf",
}

__all__ = [
    "FORMATS",
    "Source",
    "export",
    "export_robot",
    "to_dataframe",
    "urdf_of",
    "write_bag",
    "write_urdf",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
