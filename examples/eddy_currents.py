"""Torque on a conducting shell that turns in a uniform magnetic field: k (w x b) x b, with b the field's direction."""

import polhode


def braking(t, q, w, p):
    """Returns the torque in body axes, N m; q is the attitude quaternion and w the angular velocity in body axes."""
    k = p[0]
    bx, by, bz = polhode.to_body(q, (p[1], p[2], p[3]))
    along = w[0] * bx + w[1] * by + w[2] * bz
    # For a unit vector b, (w x b) x b is minus the part of w across b.
    return (k * (along * bx - w[0]), k * (along * by - w[1]), k * (along * bz - w[2]))
