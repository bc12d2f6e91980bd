"""Signal that a schema has new segments and its nodes can be updated. The signal contains the schema's number."""

from django.dispatch import Signal

# Sent with `schema` after a segment is stored and its row is committed. If it is lost, beat finds the work in seconds.
segment_sealed = Signal()
