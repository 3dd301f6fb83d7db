"""A plug-in for marsyard."""
