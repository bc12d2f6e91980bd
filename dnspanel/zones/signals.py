"""The signals of zones: notices of new log entries (without content), and questions to apps that know the nodes."""

from django.dispatch import Signal

# Sent after commit with `sequence`. A lost signal costs seconds: the beat schedule finds the same work.
published = Signal()
# Sent before a piece of a large change is published, outside of transactions. Receivers return once the nodes can take
# it beside edits: True; or False if they gave up waiting.
room_requested = Signal()
# Sent with `types`: computed types, and kinds of values, of a change. Receivers return {type: why not every node
# answers it}.
answers_requested = Signal()
# Sent after commit with `run_id`: zones wait to be signed as their policies say. Beat finds the same work.
run_begun = Signal()
# Sent after commit with `run_id`: many zones wait for the same change. Beat finds the same work.
change_run_begun = Signal()
# Sent without anything. Receivers return the sequence that every active node has acked; None if there is no such node.
acked_everywhere_requested = Signal()
# Sent with `questions` for publish hooks, outside of transactions. Receivers return an answer to each, in their order.
hooks_questioned = Signal()
# Sent with `sequence` and `reason` when a publication is taken back, because ring 0 could not answer with it; in the
# transaction of what takes it back.
publication_taken_back = Signal()
