"""
Polhode and herpolhode
======================

The rate draws a closed curve in the body, and one in space that need not close. ``plot`` draws both.
"""

import matplotlib.pyplot as plt

import polhode as ph

motion = ph.FreeMotion(ph.Body([2.0, 3.0, 4.5]), omega=[0.3, 0.4, 1.0])
motion.plot()
plt.show()
