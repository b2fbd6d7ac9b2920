"""Vectors, quaternions, rotations, two-double arithmetic, and functions of one variable."""
