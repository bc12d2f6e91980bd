"""The APIs for programs: API v1, API v2, SCIM and dyndns2. All of them call the same functions of the panel."""
