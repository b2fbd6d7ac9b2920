"""Draw the README's moving picture, docs/figures/flip.gif: `python -m docs.make_moving_picture`.

A body spun about its middle axis, over one period, so that it repeats without a seam in the rates.
"""

from pathlib import Path

import polhode as ph

PLACE = Path(__file__).parent / "figures" / "flip.gif"


def main() -> None:
    """Draws all frames."""
    motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.05, 5, 0])
    motion.animate(PLACE, t_span=(0, motion.period), overwrite=True)


if __name__ == "__main__":
    main()
