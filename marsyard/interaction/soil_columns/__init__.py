"""Granular soil in columns: Grand, Ben Amar and Bidaud, an off-road simulator (2001), section 3.2.

The columns are the nodes of the deformable grid, each with the square cell around it. How a column
answers a load is in `triaxial`, what it pushes to its neighbours in `push`, how a surface without
load flows in `surface`; `numbers` makes the numbers of the law out of a soil. Footprints, shear,
sums and the step are imported from `soil_contact`; `contact` and `flow` put them together.
"""
