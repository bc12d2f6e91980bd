"""The parts of a row of the editor in addition to its RRset."""
