"""The audit log of actions other than publications."""
