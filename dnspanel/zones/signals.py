"""The signal of the log: it says that there is something new, never what."""

from django.dispatch import Signal

# Sent after commit with `sequence`. A lost signal costs seconds: the beat schedule finds the same work.
published = Signal()
