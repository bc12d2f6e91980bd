"""Publish changes to zones and RRsets."""
