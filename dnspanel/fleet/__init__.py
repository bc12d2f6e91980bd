"""Nodes: enrollment, pushes, verification, telemetry and the checks of DNSSEC chains."""
