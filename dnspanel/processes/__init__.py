"""Code for all processes of the panel: the broker, checks at startup, and operation without the broker."""
