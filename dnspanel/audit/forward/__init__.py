"""Forward the audit log to external servers as evidence, by syslog over TLS or OpenTelemetry."""
