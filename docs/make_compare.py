"""Run the example of docs/howto/choose_method.md again, and put its table and picture there."""

from dataclasses import replace
from pathlib import Path

import polhode as ph
from polhode.api.compare import halvings
from polhode.scenario import load_scenario

HERE = Path(__file__).parent
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def main() -> None:
    """Writes what the command in the page prints and draws."""
    scenario = load_scenario(HERE.parent / "examples" / "asymmetric_top.toml")
    motion = {name: getattr(scenario, name) for name in ("body", "torque", "omega", "attitude", "t_span", "t_eval")}
    steps = halvings(scenario.step, scenario.t_span)
    done = ph.compare(**motion, methods="MR2,Strang,KL6,NMB,RK4,DOP853", steps=steps, repeats=20)
    page = HERE / "howto" / "choose_method.md"
    head, _, rest = page.read_text("utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{BEGIN}\n```text\n{done.table()}\n```\n{END}{tail}", "utf-8")
    replace(done, title=scenario.title).plot(HERE / "figures" / "compare.png")


if __name__ == "__main__":
    main()
