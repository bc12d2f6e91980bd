"""Commands for nodes, fronts, catalogs, name server sets, primaries and secondaries."""
