"""Approval rules, freezes and publish hooks, which decide what can be published and when."""
