"""The board: other simulators over the check cases, each at its defaults and at its best."""
