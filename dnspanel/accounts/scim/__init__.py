"""Manage users and groups for external directories over SCIM 2.0 (RFC 7643, RFC 7644)."""
