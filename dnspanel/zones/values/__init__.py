"""Functions for names, values, notes and serials of zones and records. All other packages can use them."""
