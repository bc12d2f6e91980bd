"""The panel's own LMDB files: followed, made again, and copied as snapshots."""
