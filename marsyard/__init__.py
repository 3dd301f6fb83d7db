"""marsyard."""
