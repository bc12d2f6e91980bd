"""Approval rules, freezes and publish hooks: what may be published, and when."""
