"""The signal that a webhook has a waiting delivery. It carries only the webhook's id."""

from django.dispatch import Signal

# Sent after commit with `webhook_id`. If a signal is lost, beat finds the work some seconds later.
due = Signal()
