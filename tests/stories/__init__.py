"""Five stories that a physicist knows: what polhode computes is what everybody has seen or read."""
