"""Checks that LMDB files have the expected contents, and that a range of the log breaks no zone's DNSSEC validation."""
