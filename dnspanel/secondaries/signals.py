"""The signal that messages to some secondaries are waiting, without the names of the secondaries."""

from django.dispatch import Signal

# Sent after commit, without anything. A lost signal costs seconds: beat finds the work.
changed = Signal()
# Sent when a secondary has fetched the catalog that says where members went, so that they may enter the other one.
moves_read = Signal()
