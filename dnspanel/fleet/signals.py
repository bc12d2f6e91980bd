"""Signals that nodes or fronts have changed, and a signal that asks about secondaries that lack a revision."""

from django.dispatch import Signal

# Sent with `node_ids`, once what lets them go further is committed. A lost signal costs seconds: beat finds the work.
released = Signal()

# Sent once it is committed that a front, or a node that fronts may ask, is another. A lost signal costs a second.
fronts_changed = Signal()

# Sent with `steps`, the revisions that rollovers wait for by the ids of their zones. Receivers return, of the zones
# that some name server which transfers them from here does not answer so, {zone id: {its name: why, as a clause}}.
transfers_questioned = Signal()
