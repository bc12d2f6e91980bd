"""Zones below and above others."""
