"""The loop over the steps of a run."""
