"""Events of one body: zeros of functions along its motion."""
