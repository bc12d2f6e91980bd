"""Lines and tables as people type and paste them."""
