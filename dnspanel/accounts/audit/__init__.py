"""The audit log of acts that are not publications."""
