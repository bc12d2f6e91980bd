"""Send signed events to other servers (webhooks), with retries, and query publish hooks."""
