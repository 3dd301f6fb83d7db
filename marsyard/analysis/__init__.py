"""Analyses that need no simulation: wheel loads, mobility."""
