"""The connections of a source: a cut ends its current and later connections, but no other source's."""

import gc
import socket

from dnspanel.transfer.sources.source_connections import Connections


def test_whoever_reads_gets_the_end_at_once_now_and_later() -> None:
    connections = Connections()
    ours, theirs = socket.socketpair()
    later, theirs_later = socket.socketpair()
    with ours, theirs, later, theirs_later:
        connections.add(ours)
        connections.cut()
        assert ours.recv(1) == b""
        connections.add(later)
        assert later.recv(1) == b""
        connections.cut()


def test_a_connection_that_was_closed_or_forgotten_is_passed_over() -> None:
    connections = Connections()
    ours, theirs = socket.socketpair()
    forgotten, other = socket.socketpair()
    connections.add(ours)
    connections.add(forgotten)
    ours.close()
    forgotten.close()
    del forgotten
    gc.collect()
    connections.cut()
    theirs.close()
    other.close()
