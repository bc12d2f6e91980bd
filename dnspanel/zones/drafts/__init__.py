"""Unpublished changes. A draft can have a name, and a discarded draft can be restored for a while."""
