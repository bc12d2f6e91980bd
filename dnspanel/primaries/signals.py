"""Signals for zones that are due for a refresh, and for transferred content. They are sent on commit."""

from django.dispatch import Signal

due = Signal()
# Sent when `zone` got its content from its primary.
landed = Signal()
