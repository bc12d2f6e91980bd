"""Look-ups at other servers for a person who fills in a form, with time limits and guards of outbound connections."""
