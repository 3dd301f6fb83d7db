"""Teleoperation under delay: the remote rover, the operator's predictor, and the page."""
