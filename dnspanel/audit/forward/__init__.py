"""Evidence: sends the audit log to external servers, by syslog over TLS or OpenTelemetry."""
