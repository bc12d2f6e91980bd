"""People and groups that an external directory manages here over SCIM 2.0 (RFC 7643, RFC 7644)."""
