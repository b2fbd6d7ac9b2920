"""The free body: closed form, elliptic functions, and the exact flow over a step."""
