"""The free body in closed form: its motion at any time, gyrostats, proofs, and motions from observations."""
