"""Store, merge, delete and check stored objects: segments, snapshots and prepared rows."""
