"""Find records that a zone should have, and change RRsets so that a check no longer complains about them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_interface

from dnspanel.texts import gettext
from dnspanel.zones.builders.builder_pieces import Present, Values, below, build_rrsets, texts_that
from dnspanel.zones.builders.reports import DmarcBuilder
from dnspanel.zones.builders.spf import SpfBuilder, is_spf, terms_of
from dnspanel.zones.errors import BadFields
from dnspanel.zones.rules.rules import LOW_TTL
from dnspanel.zones.rules.violations import Severity, Violation
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Key, RRset

Repair = Mapping[Key, RRset | None]  # the changed RRsets, None: deleted; empty if a person must decide

_NETWORKS = {4: 24, 6: 48}  # the prefix lengths of networks that usually fail together


def missing_records(zone: str, present: Present, ttl: int, *, is_top: bool) -> Iterator[tuple[Violation, Repair]]:
    """Yield the SPF, DMARC and CAA records that a zone lacks as violations, each with its repair.

    `present` has the RRsets at the apex and at `_dmarc`. New RRsets get the TTL `ttl`. DMARC and CAA also apply to
    names below (RFC 7489 6.6.3, RFC 8659 3), so they are checked only if `is_top`: the panel has no zone above.
    """
    mail = present.get((zone, rdtypes.MX))
    receives = mail is not None and any(text != "0 ." for text in mail.served)  # RFC 7505
    severity = Severity.WARNING if receives else Severity.NOTE
    if not texts_that(present.get((zone, rdtypes.TXT)), is_spf):
        message = gettext("{zone} doesn’t have an SPF record, so anyone can send mail in its name (RFC 7208)")
        values = {"mx": "yes", "all": "~all"} if receives else {"all": "-all"}
        yield (
            Violation(severity, "spf-missing", zone, rdtypes.TXT, message.format(zone=zone)),
            _build_repair(zone, values, present, ttl),
        )
    owner = below("_dmarc", zone)
    if is_top and not any(name == owner for name, _ in present):
        message = gettext("{zone} doesn’t have a DMARC record, so receivers accept forged mail (RFC 7489)")
        values = {"p": "none" if receives else "reject"}
        yield (
            Violation(severity, "dmarc-missing", owner, rdtypes.TXT, message.format(zone=zone)),
            _build_repair(zone, values, present, ttl),
        )
    if is_top and (zone, rdtypes.CAA) not in present:
        message = gettext("{zone} doesn’t have a CAA record, so any authority can issue certificates (RFC 8659)")
        yield Violation(Severity.NOTE, "caa-missing", zone, rdtypes.CAA, message.format(zone=zone)), {}


def shared_network(zone: str, addresses: Mapping[str, Sequence[str]]) -> Iterator[Violation]:
    """Yield a warning if all name servers of a zone are in one network (RFC 2182 3.1).

    `addresses` has the addresses of each name server. Yield nothing if a name server's addresses aren't known.
    """
    found = [ip_interface(address) for of_host in addresses.values() for address in of_host]
    networks = {ip_interface(f"{each.ip}/{_NETWORKS[each.version]}").network for each in found}
    if len(addresses) > 1 and all(addresses.values()) and len({each.version for each in networks}) == len(networks):
        message = gettext("all name servers of {zone} are in {networks}, so one outage can stop all of them (RFC 2182)")
        text = message.format(zone=zone, networks=", ".join(sorted(map(str, networks))))
        yield Violation(Severity.WARNING, "ns-spread", zone, rdtypes.NS, text)


def repair_of(violation: Violation, rrset: RRset, zone: str, ttl: int) -> Repair:
    """Return the RRset without the violation, or an empty repair if a person must decide what is right.

    Name servers at the zone's apex are never removed.
    """
    key = rrset.name, rrset.type
    match violation.code:
        case "ttl-low":
            return {key: replace(rrset, ttl=max(ttl, LOW_TTL))}
        case "occluded" | "shadowed" | "ds-without-ns":  # without effect
            return {key: None}
        case "target-missing" if key != (zone, rdtypes.NS):
            pointing = [text for text in rrset.rdata if violation.target in rdata.targets(rrset.type, text)]
            return {key: rrset.without(pointing)}
        case "spf-duplicate":
            terms = [term for text in texts_that(rrset, is_spf) for term in terms_of(text)]
            ends = [f"{term.qualifier or '+'}all" for term in terms if term.name == "all"]
            other = " ".join(dict.fromkeys(term.text for term in terms if term.name != "all"))
            softest = min(ends, key=lambda end: "?~-".find(end[0]), default="")
            return _build_repair(rrset.name, {"other": other, "all": softest}, {key: rrset}, ttl)
        case "dmarc-policy":
            owner = rrset.name.removeprefix("_dmarc.")
            return _build_repair(owner, DmarcBuilder().read(owner, {key: rrset}) | {"p": "none"}, {key: rrset}, ttl)
    return {}


def _build_repair(owner: str, values: Values, present: Present, ttl: int) -> Repair:
    """Return the RRsets of the form for DMARC or SPF, or an empty repair if the form refuses a value."""
    builder = DmarcBuilder() if "p" in values else SpfBuilder()
    try:
        return {(rrset.name, rrset.type): rrset for rrset in build_rrsets(builder, owner, values, present, ttl)}
    except BadFields:
        return {}
