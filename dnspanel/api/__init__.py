"""The interfaces for machines: API v1, API v2, SCIM and dyndns2. All of them call the same verbs."""
