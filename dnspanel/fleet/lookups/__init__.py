"""Look-ups at other servers for a person at a form. They have time limits and guards like all outbound connections."""
