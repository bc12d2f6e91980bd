"""The publisher tells whoever listens that nodes of a schema can be brought further, never by what."""

from django.dispatch import Signal

# Sent with `schema`, once a segment is stored and its row is committed. Lost, it costs seconds: beat finds the work.
segment_sealed = Signal()
