"""Publishing of changes to zones and RRsets."""
