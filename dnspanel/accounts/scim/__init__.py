"""People and groups in the panel that an external directory manages over SCIM 2.0 (RFC 7643, RFC 7644)."""
