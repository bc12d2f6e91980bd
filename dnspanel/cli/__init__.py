"""`dnspanel`: the panel from a command line, over its API v2. Knows neither Django nor the rest of the panel."""
