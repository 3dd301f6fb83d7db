"""Building blocks of figures, pages and pictures, independent of runs.

sheet     figures: titled sheets of panels, frames, legends, PNG files
ticks     numbers beside axes
colours   of wheels, axes and curves, the same in all figures and 3D views
page      pieces of HTML: numbers, tables, tiles, made by `templates/`
page_plots   plots inside a page: zoom, one cursor
report_page  the page of every report
solids    boxes, cylinders, balls and rings as triangles
meshes    triangles to look at, of a model's bodies and of ground
layers    solids, arrows, strokes and names that are laid over a picture
"""
