"""The signals that a transferred zone is due, or that a zone's content was transferred. They are sent on commit."""

from django.dispatch import Signal

due = Signal()
# Sent when `zone` got its content from its primary.
landed = Signal()
