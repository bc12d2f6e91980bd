"""Functions for texts of zones and records, which all other packages can use."""
