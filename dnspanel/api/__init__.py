"""The APIs for programs: API v1, API v2, SCIM and dyndns2. They all call the same functions."""
