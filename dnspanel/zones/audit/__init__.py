"""The audit log: a record of what people did, chained by hashes so that tampering can be detected."""
