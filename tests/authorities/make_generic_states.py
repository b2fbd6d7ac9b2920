"""Make generic_states.json: `python -m tests.authorities.make_generic_states`, some twenty seconds."""

import json
from pathlib import Path
from typing import Any

import mpmath as mp

from tests.authorities.high_precision import MpTorque, Vector, cross, end_state, rotation, seen_from_body
from tests.authorities.problems import RECIPES, Recipe

DIGITS = 35


def mp_torque(recipe: Recipe) -> MpTorque:
    """The formula of problems.py, in mpmath."""
    kind = recipe.kind
    r, f = [mp.mpf(x) for x in recipe.point], [mp.mpf(x) for x in recipe.force]
    d, e = [mp.mpf(x) for x in recipe.damping], mp.mpf(recipe.cubic)

    def torque(t: Any, R: list[Vector], w: Vector) -> Vector:
        if kind == "free":
            return [mp.mpf(0)] * 3
        c = mp.cos(mp.mpf(recipe.nu) * t + mp.mpf(recipe.phase)) if kind in ("swing", "stir") else mp.mpf(1)
        n = cross(r, seen_from_body(R, [c * x for x in f]))
        if kind in ("drag", "stir"):
            square = w[0] ** 2 + w[1] ** 2 + w[2] ** 2
            n = [n[i] - (d[i] + e * square) * w[i] for i in range(3)]
        return n

    return torque


def state(recipe: Recipe, steps: int, columns: int = 12) -> tuple[list[Vector], Vector]:
    """R and w at the end. A torque that jumps is two torques, one after the other."""
    torque, R = mp_torque(recipe), rotation(recipe.quaternion)
    if recipe.kind != "jump":
        return end_state(recipe.tensor, torque, R, recipe.omega, recipe.t_end, steps, columns)

    def later(t: Any, R: list[Vector], w: Vector) -> Vector:
        return [mp.mpf(recipe.after) * x for x in torque(t, R, w)]

    R, w = end_state(recipe.tensor, torque, R, recipe.omega, recipe.jump, steps, columns)
    return end_state(recipe.tensor, later, R, w, recipe.t_end - recipe.jump, steps, columns)


def main() -> None:
    """Integrate twice with different steps, demand agreement, write."""
    rows = []
    for name, recipe in RECIPES.items():
        with mp.workdps(50):
            (R, w), (R2, w2) = state(recipe, 20), state(recipe, 31)
            gap = max(abs(a - b) for a, b in zip([*R[0], *R[1], *R[2], *w], [*R2[0], *R2[1], *R2[2], *w2], strict=True))
            print(f"{name}: the two integrations agree to {mp.nstr(gap, 2)}")
            assert gap < mp.mpf(10) ** -DIGITS
            text = [[mp.nstr(x, DIGITS) for x in row] for row in R2], [mp.nstr(x, DIGITS) for x in w2]
        rows.append({"id": name, "R_end": text[0], "omega_end": text[1], "agreement": float(mp.nstr(gap, 2))})
    body = ",\n".join("  " + json.dumps(row) for row in rows)
    Path(__file__).with_name("generic_states.json").write_text(f'{{"digits": {DIGITS}, "cases": [\n{body}\n]}}\n')


if __name__ == "__main__":
    main()
