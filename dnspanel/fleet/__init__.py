"""PUSH, VERIFY, LIVE NUMBERS: nodes, enrollment, push tasks, telemetry."""
