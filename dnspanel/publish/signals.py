"""The bell of the publisher: it says that nodes of a schema can be brought further, never by what."""

from django.dispatch import Signal

# Sent with `schema`, once a segment is stored and its row is committed. A lost bell costs seconds.
segment_sealed = Signal()
