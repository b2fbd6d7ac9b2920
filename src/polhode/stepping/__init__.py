"""Steps that are made one by one, in a loop of the user's."""
