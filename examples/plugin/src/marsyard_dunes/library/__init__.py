"""Data in the shape of marsyard's own library: rovers, soils, grounds, scenarios."""
