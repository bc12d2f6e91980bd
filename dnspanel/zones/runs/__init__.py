"""Run changes on many zones, or change many RRsets at once."""
