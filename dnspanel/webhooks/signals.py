"""The signal that a delivery is waiting. It doesn't contain the delivery."""

from django.dispatch import Signal

# Sent after commit with `webhook_id`. A lost signal costs seconds: beat finds the work.
due = Signal()
