"""
A book that is tossed
=====================

A push about one axis, a shorter one about another, then nothing: krysl2004's book toss. Jumps cost no accuracy.
"""

import matplotlib.pyplot as plt

import polhode as ph

plt.style.use("polhode.plots.polhode")
book = ph.Body([5, 10, 1], allow_unphysical=True)  # the moments that the paper has
push = ph.PiecewiseTorque([[2.0, [20.0, 0.0, 0.0]], [2.05, [0.0, 4.0, 0.0]]], frame="space")
s = ph.simulate(book, push, omega=[0, 0, 0], t_span=(0, 20), step=5e-3, method="MR2")
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True)
above.plot(s.t, s.omega, label=["x", "y", "z"])
above.set_ylabel("rate in body axes (rad/s)")
above.legend(title="body axis", loc="center left", bbox_to_anchor=(1, 0.5))
below.plot(s.t, s.spatial_momentum, label=["X", "Y", "Z"])
below.legend(title="space axis", loc="center left", bbox_to_anchor=(1, 0.5))
below.set(xlabel="time (s)", ylabel="angular momentum (kg m²/s)")
plt.show()
