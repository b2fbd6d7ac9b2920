"""Steps of bodies that act on each other."""
