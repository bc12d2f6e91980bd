"""Signals that a consumer catalog is due, or that the members of a producer catalog changed.

Sent on commit.
"""

from django.dispatch import Signal

due = Signal()
# A catalog of ours has other members.
produced = Signal()
