"""Kineto-statics of articulated rovers: what a rover can move and push, before any simulation."""
