"""Numbers of the kinds of wheels; what they are says `wheel`."""

SPHERE, DISC, CYLINDER, TORUS = 0, 1, 2, 3
WHEEL_KINDS = {"sphere": SPHERE, "disc": DISC, "cylinder": CYLINDER, "torus": TORUS}
