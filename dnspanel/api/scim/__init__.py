"""SCIM 2.0 below `/scim/v2`, used by an external directory to manage users and groups."""
