"""Signals, sent on commit: a consumer catalog is due, or the members of a producer catalog changed."""

from django.dispatch import Signal

due = Signal()
# The members of a producer catalog changed.
produced = Signal()
