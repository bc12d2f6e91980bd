"""Ports for the servers that a test starts itself."""

from dnspanel.demo import ports

_given: set[int] = set()


def free_port() -> int:
    """A port that nobody has on loopback, neither for TCP nor for UDP, and that this process was not given before.

    It lies below the ephemeral range: one from there may be an outgoing connection's before the server binds it.
    """
    _given.add(port := ports.choose(taken=_given))
    return port
