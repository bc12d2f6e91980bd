"""Functions on texts of zones and their records, which all other packages can use."""
