"""Orders of zones and names in lists."""
