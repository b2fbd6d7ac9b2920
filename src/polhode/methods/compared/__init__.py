"""Methods that exist to be compared with: those of the papers and of game engines."""
