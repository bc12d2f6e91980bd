"""SCIM 2.0: people and groups for a directory elsewhere, under `/scim/v2`."""
