"""Complaints: violations that the review's checks find in published records."""
