"""Face 1: two HTTP APIs and dyndns2. All three call the same verbs."""
