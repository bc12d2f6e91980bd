"""The steps that turn a server into a node or a front."""
