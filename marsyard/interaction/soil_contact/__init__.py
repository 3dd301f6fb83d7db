"""The soil contact model (SCM): bodies on a deformable height grid.

R. Krenn, G. Hirzinger: Contact Dynamics Simulation for Space Robotics Applications (2008),
section III. The footprint of a body on the grid is in `footprint`, what its contact remembers in
`nodes`, stresses and forces in `contact`, displaced soil in `flow`. Other laws of bodies on nodes
are made of the same parts, with `steps` and `node_law`.
"""
