"""DNSSEC for zones: keys, signing states, and the transitions between states."""
