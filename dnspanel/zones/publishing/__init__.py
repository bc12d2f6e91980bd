"""Verbs that publish changes of zones and RRsets."""
