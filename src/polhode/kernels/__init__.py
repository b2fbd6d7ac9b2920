"""Mathematics to be compiled: tuples in, tuples out; no objects, no input or output, no Numba."""
