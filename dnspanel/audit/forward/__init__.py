"""Evidence: the audit log, sent to where others keep it: syslog over TLS, OpenTelemetry."""
