"""PUSH, VERIFY, LIVE NUMBERS: nodes, enrolment, push tasks, telemetry."""
