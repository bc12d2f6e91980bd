"""The signal that a delivery is waiting. It carries no data."""

from django.dispatch import Signal

# Sent after commit with `webhook_id`. A lost signal only costs some seconds, because beat finds the work.
due = Signal()
