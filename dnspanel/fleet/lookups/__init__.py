"""Look-ups at other servers for a person who fills in a form. Time and the addresses to connect to are limited."""
