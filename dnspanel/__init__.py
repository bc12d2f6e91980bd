"""The panel: everything that needs PostgreSQL or a browser; and its command line, `cli`, which needs neither."""
