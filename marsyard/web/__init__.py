"""Served pages: access control for all of them, and viser's 3D scene behind it.

gate            the only server that listens; limits, and who is let in
access          the rules for `Host`, `Origin` and token of a request
server          a page with a 3D scene, from its start to ctrl-c
viser_site      viser without a port of its own
viser_messages  what viewers may say to viser
viser_filter    whose controls it heeds
viser_events    a mend of its event loop
"""
