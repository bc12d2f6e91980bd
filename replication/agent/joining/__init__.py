"""How a server becomes a node or a front."""
