"""Quotas for people and teams."""
