"""The command `dnspanel`, which uses the panel's API v2. It imports neither Django nor the rest of the panel."""
