"""Khlistunova (2003): symplectic integration of a nearly symmetric free body.

The leapfrog scheme (LS) and Simpson's rule (SS) for a body that is almost symmetric, against Fehlberg's Runge-Kutta
method (RK): ten figures and a table of operations, all for one body and one start.

One application of the scheme that the paper prints as Simpson's (eq. (27)) advances two steps. Whether the paper's runs
with "the step h" advance by h or by 2h at once is not said: both are computed, and called SS (2h at once), which is
what is printed, and SS (h at once).
"""
