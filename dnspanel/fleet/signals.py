"""Signals for raised limits, for changed nodes or fronts, and for finding secondaries that lack a revision."""

from django.dispatch import Signal

# Sent with `node_ids` after the commit that raised their limit. A lost signal costs seconds: beat finds the work.
released = Signal()

# Sent after the commit that changed a front, or a node that fronts can query. A lost signal costs a second.
fronts_changed = Signal()

# Sent with `steps`, the revisions that rollovers wait for, by zone id. Receivers return the secondaries that don't
# serve these revisions yet, as {zone id: {secondary's name: reason as a clause}}.
transfers_questioned = Signal()
