"""The cards of the torque models: docs/reference/torques.md, written by `make docs`."""

import typing
from dataclasses import MISSING, fields
from pathlib import Path

from polhode.text import cards
from polhode.torques import Torque, catalogue

PAGE = Path(__file__).parent / "reference" / "torques.md"

INTRODUCTION = """\
# Torque models

`polhode torques` lists them in a terminal, and `polhode torques NAME` shows one card.
[How to write a torque](../howto/torques.md) tells how they are added up, scaled and switched, and how to make your own.

## Start here

| what acts on the body | model |
|---|---|
| nothing | `Free`, or leave the torque out: the motion is exact |
| its weight; a uniform field | `HeavyTop`; `MagneticDipole` |
| a planet, along an orbit | `GravityGradient`, with an [orbit](../howto/orbit.md) |
| drag or sunlight on flat sides | `Facets` |
| thrusters | `ConstantBodyTorque(...).during(start, end)`, `PiecewiseTorque`; in pulses, by a law, `thrusters` |
| magnetic torquers | `Magnetorquers`, with a [field](../howto/orbit.md) |
| a controller, wheels, gyros | `Sampled` for your own law, `ReactionWheels`, `ControlMomentGyros`, `LinearDamping` |
| energy lost inside | `Damper` |
| numbers that were measured | `Table` |
| anything else | a function of yours: `@ph.torque` |
"""


def page() -> str:
    """Returns the whole page."""
    models = [model for model in catalogue().values() if cards.torque_record(model)["package"] is None]
    return "\n\n".join([INTRODUCTION, "## All models", *map(_card, models)]) + "\n"


def _card(model: type[Torque]) -> str:
    record = cards.torque_record(model)
    text = _plain(cards.described(model))
    about = cards._field_docs(model)
    rows = []
    for field in fields(model):
        if field.name.startswith("_") or field.name not in about:
            continue
        required = field.default is MISSING and field.default_factory is MISSING
        default = "required" if required else "" if field.default in (None, MISSING) else f"`{_value(field.default)}`"
        rows.append(f"| `{field.name}` | {default} | {_plain(' '.join(about[field.name].split()))} |")
    table = "\n".join(["| parameter | default | |", "|---|---|---|", *rows]) if rows else ""
    facts = f"It depends on: {cards.depends_on(model)}. A potential: {cards._potential(model)}."
    example = f"In a scenario file:\n\n```toml\n{cards.torque_example(model).strip()}\n```"
    return "\n\n".join(
        part for part in (f"### {record.get('name', model.__name__)}", text, facts, table, example) if part
    )


def _value(value: typing.Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _plain(text: str) -> str:
    """Returns text that Markdown leaves alone."""
    return text.replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
