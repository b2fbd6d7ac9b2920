"""Methods, torques and results as text."""
