"""One run: the grid of steps, the compiled loop called in chunks, and states between rows."""
