"""People and groups that a directory elsewhere keeps here, over SCIM 2.0 (RFC 7643, RFC 7644)."""
