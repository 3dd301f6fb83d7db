"""Operating rovers: sequences, their validation before they are sent, live view, teleoperation."""
