"""The signal that nodes with a schema can be updated. It carries no data."""

from django.dispatch import Signal

# Sent with `schema`, once a segment is stored and its row is committed. Lost, it costs seconds: beat finds the work.
segment_sealed = Signal()
