"""
A hundred years in one call
===========================

The closed form costs the same at any time. Where is the body after one day, one year, a hundred years; and how many
digits of it do the numbers determine that were given?
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
motion = ph.FreeMotion(ph.Body([1.0, 2.0, 2.8]), omega=[0.3, 0.5, 1.0])
times = np.logspace(0, np.log10(3.2e9), 60)
plt.figure(figsize=(7, 3.5))
plt.semilogx(times, [motion.digits(t) for t in times])
for name, t in (("a day", 86400), ("a year", 3.16e7), ("a hundred years", 3.16e9)):
    plt.axvline(t, color="0.8", zorder=0)
    plt.text(t, 15.5, name, rotation=90, va="top", ha="right", fontsize=8)
plt.xlabel("time (s)")
plt.ylim(5, 16)
plt.ylabel("digits of the state")
plt.show()
