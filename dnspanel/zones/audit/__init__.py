"""The audit log of all actions. A chain of hashes makes tampering detectable."""
