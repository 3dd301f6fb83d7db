"""Compliant contact of shapes divided in elements with hard ground, and friction by displacement.

`elements` divides shapes, `curves` makes the curve of friction from its parameters, `law` is the
law itself as compiled scalar kernels. What the engine calls is in `kernels`.
"""
