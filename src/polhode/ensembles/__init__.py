"""Many bodies at once."""
