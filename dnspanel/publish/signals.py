"""The signal that a schema has new segments, so its nodes can be updated. It carries no data."""

from django.dispatch import Signal

# Sent with `schema`, once a segment is stored and its row is committed. Lost, it costs seconds: beat finds the work.
segment_sealed = Signal()
