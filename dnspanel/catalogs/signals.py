"""The signals that a consumer catalog is due, or that the members of a producer catalog changed.

They are sent on commit.
"""

from django.dispatch import Signal

due = Signal()
# A catalog of ours has other members.
produced = Signal()
