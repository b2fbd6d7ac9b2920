"""Bodies, starts and torques from measured rates and attitudes."""
