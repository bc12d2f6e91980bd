"""Actors and their rights: reads only."""
