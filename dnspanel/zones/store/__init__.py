"""Read and write rows of zones, RRsets and changes in bulk."""
