"""Faults and abuse: what is done to polhode, how often, and what was lost. `python -m tests.faults` tries all."""
