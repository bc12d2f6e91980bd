"""The signals, sent on commit, that a consumer catalog is due, or that the members of a producer catalog changed."""

from django.dispatch import Signal

due = Signal()
# The members of a producer catalog changed.
produced = Signal()
