"""Quotas of people and teams."""
