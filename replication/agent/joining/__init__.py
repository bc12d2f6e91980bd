"""Turn a server into a node or a front."""
