"""Manage nodes: enrollment, pushes, rollout, verification, telemetry, alert conditions and DNS checks."""
