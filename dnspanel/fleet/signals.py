"""The bell of delivery: it says that nodes may go further, never how far."""

from django.dispatch import Signal

# Sent with `node_ids`, once what lets them go further is committed. A lost bell costs seconds.
released = Signal()
