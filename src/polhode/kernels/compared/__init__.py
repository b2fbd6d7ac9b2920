"""Steps of methods that exist to be compared with: those of the papers."""
