"""Weak torques over long times: averages over the exact free motion, and what is known of their error."""
