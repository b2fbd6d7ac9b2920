"""
The nearer, the longer
======================

How long a body stays near its middle axis before it turns over depends on how exactly it was spun about it: a factor
of ten in the error adds always the same time. The closed form follows this down to the last digit.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
errors = 10.0 ** np.arange(-15, 0)
body = ph.Body([1, 2, 2.8])
motions = ph.FreeMotion(body, omega=np.column_stack([errors, np.full_like(errors, 5.0), np.zeros_like(errors)]))
plt.figure(figsize=(7, 3.5))
plt.semilogx(errors, motions.period / 2, "o-")
plt.xlabel("rate about the first axis at the start (rad/s)")
plt.ylabel("time between flips (s)")
plt.show()
