"""The audit log: what people did, chained so that a change of it shows."""
