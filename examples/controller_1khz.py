"""A satellite under an attitude controller at 1 kHz, in a loop of yours: `python examples/controller_1khz.py`.

The controller is any Python: it sees a star tracker and gyroscopes with noise, filters the rate, and asks three
actuators for a torque, which saturate and are held for a millisecond. Gravity acts all the time. The satellite tumbles
at first and shall point its axes along those of space.
"""

import time

import numpy as np

import polhode as ph

BODY = ph.Body([[12.0, 0.4, -0.3], [0.4, 15.0, 0.2], [-0.3, 0.2, 9.0]])
GRAVITY = ph.GravityGradient(2e-3)
PERIOD = 1e-3  # s
LARGEST = 0.5  # N m, of each actuator
STIFFNESS, DAMPING = 1.2, 6.0  # N m, N m s


class Controller:
    """Torque against the angle to the target and against the rate, which is filtered."""

    def __init__(self, seed=0):
        self.noise = np.random.default_rng(seed)
        self.rate = np.zeros(3)

    def __call__(self, t, q, w):
        """Returns the torque for the next millisecond, in body axes."""
        measured = w + 1e-4 * self.noise.normal(size=3)
        self.rate += 0.05 * (measured - self.rate)  # a filter with a memory of 20 ms
        error = np.copysign(2.0, q[0]) * q[1:] + 1e-5 * self.noise.normal(size=3)
        return np.clip(-STIFFNESS * error - DAMPING * self.rate, -LARGEST, LARGEST)


def main(seconds=60.0):
    """Returns the stepper at the end, with a row for every tenth of a second."""
    s = ph.Stepper(
        BODY, GRAVITY, omega=[0.15, -0.1, 0.2], attitude=[0.5, 0.5, -0.5, 0.5], step=PERIOD, every=round(0.1 / PERIOD)
    )
    s.prepare(torque=(0.1, 0.1, 0.1))  # compiles now, and not in the first step of the loop
    control = Controller()
    for _ in range(round(seconds / PERIOD)):
        s.step(torque=control(s.t, s.quaternion, s.omega))
    return s


if __name__ == "__main__":
    clock = time.perf_counter()
    s = main()
    spent = time.perf_counter() - clock
    motion = s.solution()
    for k in range(0, motion.t.size, 100):
        angle, rate = motion.attitude[k].magnitude(), np.linalg.norm(motion.omega[k])
        print(f"t = {motion.t[k]:4.0f} s: {np.degrees(angle):8.4f} deg from the target, {rate:.5f} rad/s")
    print(f"{s.steps} periods in {spent:.2f} s, {s.t / spent:.0f} times as fast as the satellite")
