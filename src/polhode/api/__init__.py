"""What people call: each entrance has a file, and `polhode/__init__.py` offers them by name."""
