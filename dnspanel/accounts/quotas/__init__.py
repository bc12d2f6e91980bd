"""Quotas for users and teams."""
