"""What all processes of the panel share: the broker, and what they do at their start and without it."""
