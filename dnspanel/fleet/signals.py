"""What happened to nodes is told to whoever listens, never with content."""

from django.dispatch import Signal

# Sent with `node_ids`, once what lets them go further is committed. A lost signal costs seconds: beat finds the work.
released = Signal()

# Sent once it is committed that a front, or a node that fronts may ask, is another. A lost signal costs a second.
fronts_changed = Signal()
