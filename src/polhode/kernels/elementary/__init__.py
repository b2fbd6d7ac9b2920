"""Elementary functions of floats, which give the same bits in lanes: errors below 1 ulp, special values as in C.

They are plain functions without branches on numbers, so that they compile for floats and for lanes alike. Where a
torque calls `math.sin` or `np.sin` of a number, the compiled torque calls these (`replacements.py`). In plain Python
`math` itself is called: `kernels.algebra.exact_fma.with_fused` gives the bits of compiled code there.
"""
