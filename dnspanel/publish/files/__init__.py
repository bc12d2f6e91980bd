"""Update and rebuild the panel's own LMDB files, and copy them as snapshots."""
