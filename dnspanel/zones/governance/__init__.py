"""Approval rules, freezes and publish hooks, which restrict publications."""
