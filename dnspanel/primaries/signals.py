"""What primaries tell the workers: something is due. Sent on commit, without data."""

from django.dispatch import Signal

due = Signal()
# What a zone holds came from its primary; `zone` is that zone.
landed = Signal()
