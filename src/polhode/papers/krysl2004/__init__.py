"""Krysl and Endres 2004: Newmark's explicit method for the rotation of rigid bodies.

The paper's NMB and NMS are Newmark's method in body and space axes. Its SW, as printed, is `SW`; its remarks on the
energy of SW fit `SWd`, with another acceleration, so that both are shown. AKW turns the attitude by Cayley's map;
`AKWexp` turns it exactly. LS, whose equations are not given, is taken for `LewisSimo`, and LP2 is `MR2`.
"""
