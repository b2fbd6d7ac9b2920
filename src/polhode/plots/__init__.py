"""Pictures: solutions, ensembles, comparisons, fits and verdicts."""
