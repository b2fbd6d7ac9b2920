"""Pictures, tables and cards."""
