"""Everything that publishes changes of zones and RRsets."""
