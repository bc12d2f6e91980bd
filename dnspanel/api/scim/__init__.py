"""SCIM 2.0 under `/scim/v2`: an external directory manages people and groups."""
