"""The rollout tells whoever listens that nodes may go further, never how far."""

from django.dispatch import Signal

# Sent with `node_ids`, once what lets them go further is committed. A lost signal costs seconds: beat finds the work.
released = Signal()
