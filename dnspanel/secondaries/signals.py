"""Signals for secondaries with due messages, and for a secondary that fetched a catalog with moved members."""

from django.dispatch import Signal

# Sent after commit, without arguments. If it is lost, beat finds the work in seconds.
changed = Signal()
# Sent when a secondary has fetched the catalog with the `coo` of moved members, so that they can enter the new catalog.
moves_read = Signal()
