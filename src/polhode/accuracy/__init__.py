"""An error in, a method and its steps out."""
