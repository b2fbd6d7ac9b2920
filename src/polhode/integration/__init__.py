"""One body, run step by step: the grid, the compiled loop in chunks, states between rows."""
