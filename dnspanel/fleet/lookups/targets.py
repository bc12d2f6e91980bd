"""Look up the targets of records, to find names that don't exist or don't have addresses."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import dns.rcode

from dnspanel.fleet.dnssec.dns_exchange import NoAnswer
from dnspanel.fleet.dnssec.resolver import Resolver
from replication.dns import rdtypes

SECONDS = 8.0
MOST_TARGETS = 20


class Outcome(StrEnum):
    """The result of looking up a target."""

    FOUND = "found"
    NO_NAME = "no-name"
    NO_ADDRESS = "no-address"
    NO_ANSWER = "no-answer"


@dataclass(frozen=True, slots=True)
class TargetLook:
    """A target with its outcome. `detail` explains why there is no answer."""

    target: str
    outcome: Outcome
    detail: str = ""


def look_up_targets(targets: Sequence[tuple[str, bool]], *, resolver: Resolver) -> list[TargetLook]:
    """Look up the first MOST_TARGETS targets (name, needs addresses) within SECONDS.

    Network errors are returned as an outcome, never raised.
    """
    deadline = time.monotonic() + SECONDS
    return [
        _look(name, resolver, deadline, needs_address=needs_address) for name, needs_address in targets[:MOST_TARGETS]
    ]


def _look(name: str, resolver: Resolver, deadline: float, *, needs_address: bool) -> TargetLook:
    try:
        if resolver.ask(name, rdtypes.A, deadline=deadline).rcode() == dns.rcode.NXDOMAIN:
            return TargetLook(name, Outcome.NO_NAME)
        if needs_address and not resolver.addresses(name, deadline=deadline):
            return TargetLook(name, Outcome.NO_ADDRESS)
    except NoAnswer as exc:
        return TargetLook(name, Outcome.NO_ANSWER, str(exc))
    return TargetLook(name, Outcome.FOUND)
