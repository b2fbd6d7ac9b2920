"""Put the outcome of `polhode reproduce` into the documentation: `python -m docs.make_reproduction DIRECTORY`.

Copies report and claims, the two figures that the README shows, and writes the count of verdicts into it.
"""

import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from polhode.papers._report import small

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PLACE = HERE / "reproduced"
SHOWN = ("krysl2004/fig12", "vilmart2008/fig2")
COUNTS = re.compile(r"(?<=<!-- counts -->).*?(?=<!-- end -->)", re.DOTALL)


def counts() -> str:
    """The verdicts in the kept claims, in a sentence."""
    studies = json.loads((PLACE / "claims.json").read_text("utf-8"))["studies"]
    verdicts = Counter(c["verdict"] for s in studies.values() for c in s["claims"])
    words = {
        "reproduced": "are reproduced",
        "reproduced under a stated reading": "are under a stated reading",
        "does not reproduce": "are not",
    }
    listed = ", ".join(f"{verdicts[verdict]} {said}" for verdict, said in words.items())
    return f"{len(studies)} studies, {sum(verdicts.values())} claims: {listed}."


def main(directory: str) -> None:
    """Copy and write."""
    made = Path(directory)
    if json.loads((made / "claims.json").read_text("utf-8"))["size"] != "full":
        raise SystemExit(f"{made} holds a quick run: the documentation shows a full one")
    PLACE.mkdir(exist_ok=True)
    for name in ("report.html", "claims.json"):
        shutil.copyfile(made / name, PLACE / name)
    for study in SHOWN:
        picture = made / f"{study}.png"
        (HERE / "figures" / f"{study.replace('/', '_')}.png").write_bytes(small(picture, picture.stat().st_mtime_ns))
    README.write_text(COUNTS.sub(f"\n{counts()}\n", README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
