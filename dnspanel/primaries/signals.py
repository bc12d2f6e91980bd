"""The signals that a transferred zone is due, or that a zone's content was transferred. They are sent on commit."""

from django.dispatch import Signal

due = Signal()
# What a zone holds came from its primary; `zone` is that zone.
landed = Signal()
