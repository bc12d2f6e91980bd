"""What catalogs tell the workers: something is due. Sent on commit, without data."""

from django.dispatch import Signal

due = Signal()
# A catalog of ours has other members.
produced = Signal()
