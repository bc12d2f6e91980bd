"""Code for all of the panel's processes: the broker, checks at startup, and operation without the broker."""
