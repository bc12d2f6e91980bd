"""Evaluate an SPF record over DNS: how many look-ups it needs, and which addresses are allowed to send."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import dns.exception
import dns.message

from dnspanel.fleet.dnssec.dns_exchange import NoAnswer
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.texts import gettext
from dnspanel.zones.builders.spf import Term, is_spf, terms_of
from dnspanel.zones.rules.mail_rules import MAX_SPF_LOOKUPS
from replication.dns import names, rdtypes
from replication.errors import BadName

SECONDS = 8.0
# Counting continues beyond the limit of receivers, to show people the excess, but not without end.
MOST_LOOKUPS = 30
MOST_HOSTS = 10  # mail servers of one mx (RFC 7208 4.6.4)
MOST_VOID = 2  # look-ups without an answer that receivers tolerate
MOST_ADDRESSES = 500
_FETCHES = ("include", "redirect")


@dataclass(frozen=True, slots=True)
class SpfStep:
    """A term of an SPF record, in evaluation order. `depth` counts nested records, `number` look-ups (or is 0)."""

    depth: int
    term: Term
    number: int
    fault: str = ""


@dataclass(frozen=True, slots=True)
class SpfLook:
    """The result of evaluating an SPF record."""

    steps: tuple[SpfStep, ...]
    lookups: int
    void: int
    addresses: tuple[str, ...]  # networks too, each once, as `ip4` and `ip6` have them
    unfollowed: tuple[str, ...]  # terms that cannot be replaced by addresses
    end: str  # the verdict on all other senders: `~all`
    is_complete: bool

    @property
    def is_too_much(self) -> bool:
        return self.lookups > MAX_SPF_LOOKUPS

    @property
    def is_too_void(self) -> bool:
        return self.void > MOST_VOID

    @property
    def has_faults(self) -> bool:
        return any(step.fault for step in self.steps)

    @property
    def flattened_record(self) -> str:
        """The SPF record with names replaced by their addresses, except in terms that can't be replaced."""
        found = (f"ip6:{each}" if ":" in each else f"ip4:{each}" for each in self.addresses)
        return " ".join(("v=spf1", *found, *self.unfollowed, *filter(None, [self.end])))


def follow_spf(text: str, owner: str, *, resolver: Resolver) -> SpfLook:
    """Evaluate an SPF record at a name with current DNS data, within SECONDS and MOST_LOOKUPS.

    Network errors are never raised. Each one is a fault of its step and sets `is_complete` to False.
    """
    walk = _Walk(resolver, time.monotonic() + SECONDS)
    steps = tuple(walk.steps(text, owner, 0, frozenset((owner,))))
    return SpfLook(
        steps,
        walk.lookups,
        walk.void,
        tuple(dict.fromkeys(walk.addresses)),
        tuple(dict.fromkeys(walk.unfollowed)),
        walk.end,
        walk.is_complete,
    )


@dataclass(slots=True)
class _Walk:
    resolver: Resolver
    deadline: float
    lookups: int = 0
    void: int = 0
    end: str = ""
    is_complete: bool = True
    addresses: list[str] = field(default_factory=list)
    unfollowed: list[str] = field(default_factory=list)

    def steps(self, text: str, owner: str, depth: int, above: frozenset[str]) -> Iterator[SpfStep]:
        terms = terms_of(text)
        has_all = any(term.name == "all" for term in terms)
        for term in terms:
            if term.name == "redirect" and has_all:  # the redirect has no effect in that case
                continue
            if term.name == "all":
                if depth == 0 or term.text == self.end:
                    self.end = term.text
                yield SpfStep(depth, term, 0)
                return
            if not term.looks_up:
                self._take(term)
                yield SpfStep(depth, term, 0)
                continue
            if self.lookups >= MOST_LOOKUPS or time.monotonic() >= self.deadline:
                self.is_complete = False
                yield SpfStep(
                    depth, term, 0, gettext("Not followed because the limit for lookups or time has been reached.")
                )
                return
            self.lookups += 1
            number = self.lookups
            below, fault = self._follow_term(term, owner, above)
            yield SpfStep(depth, term, number, fault)
            if below:
                name, record = below
                if term.name == "redirect" and depth == 0:
                    self.end = next((each.text for each in terms_of(record) if each.name == "all"), "")
                yield from self.steps(record, name, depth + 1, above | {name})

    def _take(self, term: Term) -> None:
        if term.name not in ("ip4", "ip6"):
            return
        if term.qualifier in ("", "+") and len(self.addresses) < MOST_ADDRESSES:
            self.addresses.append(term.value)
        else:
            self.is_complete = False

    def _follow_term(self, term: Term, owner: str, above: frozenset[str]) -> tuple[tuple[str, str] | None, str]:
        """Return the (name, record) to evaluate next (or None), and the term's fault ("" if it has no fault)."""
        if "%{" in term.value or term.name not in ("a", "mx", *_FETCHES) or term.qualifier not in ("", "+"):
            self.unfollowed.append(term.text)
            return None, ""
        host, slash, _ = term.value.partition("/")
        if slash:  # a network around each address
            self.unfollowed.append(term.text)
            return None, ""
        try:
            name = names.parse(host) if host else owner
            if term.name in _FETCHES:
                return self._record(name, above)
            return None, self._hosts(term.name, name)
        except (NoAnswer, BadName) as exc:
            self.is_complete = False
            return None, f"{str(exc)[:1].upper()}{str(exc)[1:]}."

    def _record(self, name: str, above: frozenset[str]) -> tuple[tuple[str, str] | None, str]:
        if name in above:
            self.is_complete = False
            return None, gettext("The SPF records include each other in a loop.")
        texts = [text for text in self._texts(name) if is_spf(text)]
        if len(texts) == 1:
            return (name, texts[0]), ""
        self.is_complete = False
        if not texts:
            self.void += 1
            return None, gettext("{name} doesn’t have an SPF record, so receivers treat yours as invalid.").format(
                name=name
            )
        return None, gettext("{name} has {count} SPF records, so receivers treat yours as invalid.").format(
            name=name, count=len(texts)
        )

    def _hosts(self, kind: str, name: str) -> str:
        hosts = [name]
        if kind == "mx":
            found = _follow_aliases(self.resolver.ask(name, rdtypes.MX, deadline=self.deadline))
            hosts = [str(item.exchange) for item in found if str(item.exchange) != "."]
        if len(hosts) > MOST_HOSTS:
            self.is_complete = False
            return gettext(
                "{name} has more than {most_hosts} mail servers, so receivers treat your SPF record as invalid."
            ).format(name=name, most_hosts=MOST_HOSTS)
        addresses = [each for host in hosts for each in self.resolver.addresses(host.lower(), deadline=self.deadline)]
        if not addresses:
            self.void += 1
            self.is_complete = False
            return gettext("{name} doesn’t have an address.").format(name=name)
        self.addresses += addresses[: MOST_ADDRESSES - len(self.addresses)]
        return ""

    def _texts(self, name: str) -> list[str]:
        found = _follow_aliases(self.resolver.ask(name, rdtypes.TXT, deadline=self.deadline))
        return [b"".join(item.strings).decode("latin-1") for item in found]


def _follow_aliases(answer: dns.message.Message) -> list[Any]:
    try:
        chain = dns.message.QueryMessage.resolve_chaining(answer)  # type: ignore[arg-type]
    except dns.exception.DNSException as exc:
        raise NoAnswer(gettext("the resolver’s answer for this name is invalid")) from exc
    return list(chain.answer or ())
