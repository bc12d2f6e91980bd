"""Rights over zones: who may read or change which, and locks."""
