"""MuJoCo's own soft contact with hard ground, a baseline to compare with."""
