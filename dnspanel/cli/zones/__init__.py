"""Commands about zones and records: read, change, publish, import, export."""
