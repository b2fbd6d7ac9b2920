"""Celledoni and Säfström 2006: the exact motion of the free body, as a part of a time-symmetric method.

The paper's Q goes from space to body axes, Q = R^T. Its MR is `MR2`; of its MR of order 4 only the order is given, and
`MR4` (a triple jump) fits what the paper says about its energy error. Its JE is `JE0`, with the constants of the start.
"""
