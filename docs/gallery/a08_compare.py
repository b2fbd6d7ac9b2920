"""
Accuracy against cost
=====================

``compare`` runs methods with several steps on one motion, and draws what accuracy costs.
"""

import matplotlib.pyplot as plt

import polhode as ph

done = ph.compare(
    ph.Body([2.0, 3.0, 4.0]), ph.HeavyTop(2.0), omega=[0.4, 1.0, 2.0], t_span=(0, 50),
    methods="MR2,Strang,RK4", steps=[0.2, 0.1, 0.05, 0.025], repeats=3,
)  # fmt: skip
done.plot()
plt.show()
