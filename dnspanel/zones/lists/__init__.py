"""Lists of zones and their records, for pages and APIs."""
