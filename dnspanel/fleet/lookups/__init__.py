"""Look up data at other servers for people who fill in forms, with limits on time and addresses."""
