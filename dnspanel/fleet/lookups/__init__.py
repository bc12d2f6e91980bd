"""What servers of others say when a person at a form wants to know: bounded in time, and guarded as all that leaves."""
