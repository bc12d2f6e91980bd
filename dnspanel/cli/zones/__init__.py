"""Commands that read, change, publish, import and export zones and records."""
