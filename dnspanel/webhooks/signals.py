"""Webhooks tell whoever listens that something waits to be sent, never what."""

from django.dispatch import Signal

# Sent after commit with `webhook_id`. A lost signal costs seconds: beat finds the work.
due = Signal()
