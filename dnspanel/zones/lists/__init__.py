"""Lists of zones and of their records, for pages and APIs."""
