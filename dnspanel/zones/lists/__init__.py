"""Lists of zones and of their records, as the faces show them."""
