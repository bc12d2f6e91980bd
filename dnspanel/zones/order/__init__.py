"""Sort orders of zones and names in lists."""
