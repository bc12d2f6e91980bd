"""Settings of zones: team, tags, serials, name servers, and what new zones begin with."""
