"""The panel's own LMDB files: updating, rebuilding, and copying them as snapshots."""
