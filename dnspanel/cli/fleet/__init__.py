"""Commands about nodes, and about external primaries and secondaries."""
