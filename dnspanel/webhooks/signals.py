"""The bell of the webhooks: it says that something waits to be sent, never what."""

from django.dispatch import Signal

# Sent after commit with `webhook_id`. A lost bell costs seconds: the beat schedule finds the same work.
due = Signal()
