"""Zone settings: team, tags, serials, name servers, and the defaults for new zones."""
