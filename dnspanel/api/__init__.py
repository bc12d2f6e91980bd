"""Face 1: two HTTP APIs and dyndns2, all three translations of the same verbs."""
