"""Ports for the servers that a test starts itself."""

from dnspanel.demo import ports
from tests.workers import WORKER

# Not in the ephemeral range, where a port may be taken by an outgoing connection before the server binds it, and not in
# the range for stacks. Ports are chosen some time before they are bound, so the processes of a run have separate ports.
_PROCESSES = 8
_NUMBER = int(WORKER.removeprefix("gw")) % _PROCESSES if WORKER != "main" else _PROCESSES - 1
_RANGE = range(10_000 + _NUMBER, ports.RANGE.start, _PROCESSES)
OF_STACKS = ports.RANGE[_NUMBER::_PROCESSES]
_given: set[int] = set()


def free_port() -> int:
    """Return a port that is free on loopback, for TCP and UDP, and that this process has not returned before."""
    port = ports.choose(taken=_given, among=_RANGE)
    _given.add(port)
    return port
