"""Vilmart 2008: round-off in long runs of the free body, and how to keep it a random walk.

The paper's Algorithm 3.1 is `Jacobi31`, its Algorithm 4.1 `Jacobi41`; its preprocessed discrete Moser-Veselov map of
order 10 is `PDMV10`, with compensated summation `PDMV10(compensated=true)`. Its Q goes from body to space.
"""
