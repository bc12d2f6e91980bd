"""Nodes: enrollment, pushes, rollout, verification, telemetry, alert conditions, and DNS checks from the panel."""
