"""Kineto-statics of articulated rovers: what a rover can move and push, before any simulation.

After Bidaud, Ben Amar and Poulain, "Kineto-static analysis of an articulated six-wheel rover",
CLAWAR 2005 (doi 10.1007/3-540-26415-9_57), for any articulated rover:

stance        a robot in a pose with its contacts
contacts      what the velocity model needs of it
screws        twists, wrenches, reciprocal systems; words: the same in words
pods          two driven wheels on one axle
limbs         what joins the platform to the ground, and its reciprocal screws
velocity      the model B q̇_a = D X: wheel rates of a motion, motion of wheel rates
mobility      controllable, uncontrolled and forbidden motions; singular poses
transmission  traction ellipsoids and the index σ
balance       contact forces within friction cones; polytope, climb: what follows from them
"""
