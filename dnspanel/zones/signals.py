"""Signals about zones: notices of publications and runs, and requests to other apps about nodes and publish hooks."""

from django.dispatch import Signal

# Sent after commit with `sequence`. A lost signal delays the work by seconds: beat's schedule finds the work too.
published = Signal()
# Sent outside of transactions, before a piece of a large change is published. Receivers return True once the nodes can
# take the piece in addition to edits, or False if they gave up waiting.
room_requested = Signal()
# Sent with `types`: computed types and kinds of values in a change. Receivers return {type: reason why some node does
# not answer it}.
answers_requested = Signal()
# Sent after commit with `run_id`: zones wait for signing as their policies require. Beat finds the work too.
run_begun = Signal()
# Sent after commit with `run_id`: many zones wait for the same change. Beat finds the work too.
change_run_begun = Signal()
# Sent without data. Receivers return the sequence that every active node has acknowledged, or None without nodes.
acked_everywhere_requested = Signal()
# Sent outside of transactions with `questions` for publish hooks. Receivers return one answer per question, in order.
hooks_questioned = Signal()
# Sent with `sequence` and `reason` in the transaction that reverts a publication because ring 0 could not answer with
# it.
publication_taken_back = Signal()
