"""Objects at rest: segments, snapshots, and how long they are kept."""
