"""Check the RRsets of a zone that a change affects. Pure.

`check_zone` reports nothing about other RRsets of the zone. It needs the RRsets at `names_to_know`, and the RRsets that
point to a changed name.
"""

import binascii
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from functools import cache
from ipaddress import ip_network
from socket import AF_INET, AF_INET6, inet_pton

from dnspanel.texts import gettext, one_language
from dnspanel.zones.rules import mail_rules, name_rules, unreadable, value_rules
from dnspanel.zones.rules.neighbourhood import AT_A_CUT, Key, Neighbourhood, is_shadowed, targets_of, what
from dnspanel.zones.rules.target_rules import ADDRESSES, check_targets
from dnspanel.zones.rules.violations import Severity, Violation, error, in_order, note, warning
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import MAX_TTL, RRset

# A warning that is as serious as an error: it must be accepted by this code, with a reason.
BREAKING_DS = "ds-breaks-zone"
LOW_TTL = 30
_INTERNATIONAL = "xn--"
_ONLY_AT_APEX = frozenset((rdtypes.SOA, rdtypes.DNSKEY))
# The first characters of canonical addresses in networks that end at a dot.
_PRIVATE_BEGINNINGS = ("10.", "127.", "169.254.", "192.168.")
# The other networks as (netmask, network) numbers. `ipaddress` objects would cost more than all other address rules.
_PRIVATE = {
    family: [(int(network.netmask), int(network.network_address)) for network in map(ip_network, networks)]
    for family, networks in (
        (AF_INET, ("172.16.0.0/12", "100.64.0.0/10")),
        (AF_INET6, ("fc00::/7", "fe80::/10", "::1/128")),
    )
}
_MAYBE_PRIVATE = ("172.", "100.", "f", ":")  # first characters of addresses in these networks, and of some others


def check_zone(  # noqa: PLR0913  # a zone, and what is known around it
    zone: str,
    rrsets: Mapping[Key, RRset],
    changed: Collection[Key],
    *,
    below: Mapping[str, tuple[str, ...]] | None = None,
    answered_by: Mapping[str, str] | None = None,
    allow_lua: bool = False,
    unanswered: Mapping[int, str] | None = None,
) -> list[Violation]:
    """Return the violations in the changed RRsets, errors first.

    Include missing SOA and NS records if the apex changed, and bad targets of RRsets that point to changed names.
    `below` and `answered_by` are as in `Neighbourhood`. `unanswered` has the types and kinds of values that not every
    node can answer, with the reasons (`computed_types.reasons_against`).
    """
    near = Neighbourhood(zone, rrsets, below or {}, answered_by or {}, unanswered or {})
    changed_names = {name for name, _ in changed}
    found = list(_apex(near)) if zone in changed_names else []
    with one_language():
        for key, rrset in rrsets.items():
            if key in changed:
                found.extend(_violations_of(near, rrset, allow_lua=allow_lua))
            elif not changed_names.isdisjoint(targets_of(rrset)):
                found.extend(check_targets(near, rrset))
    return list(in_order(found))


def _violations_of(near: Neighbourhood, rrset: RRset, *, allow_lua: bool) -> Iterator[Violation]:
    if not names.is_within(rrset.name, near.zone):
        message = gettext("{name} is not inside the zone {zone}").format(name=rrset.name, zone=near.zone)
        yield Violation(Severity.ERROR, "not-in-zone", rrset.name, rrset.type, message)
        return
    if rrset.type == rdtypes.RRSIG:  # allowed beside any type
        return
    if rrset.type == rdtypes.LUA and not allow_lua:
        yield error(
            rrset,
            "lua-refused",
            gettext("LUA records run code on the name servers: the operator must allow them, and you need permission"),
        )
    elif rrset.type in near.unanswered and rrset.served:
        yield error(rrset, "type-unanswered", near.unanswered[rrset.type])
    for rule in _rules_of(rrset.type):
        yield from rule(near, rrset)


def _apex(near: Neighbourhood) -> Iterator[Violation]:
    at = near.at(near.zone)
    if rdtypes.SOA not in at or not at[rdtypes.SOA].served:
        message = gettext("{zone} must have an SOA record").format(zone=near.zone)
        yield Violation(Severity.ERROR, "soa-missing", near.zone, rdtypes.SOA, message)
    if rdtypes.NS not in at or not at[rdtypes.NS].served:
        message = gettext("{zone} must have at least one NS record").format(zone=near.zone)
        yield Violation(Severity.ERROR, "apex-ns-missing", near.zone, rdtypes.NS, message)
    elif len(at[rdtypes.NS].served) == 1:
        message = gettext("{zone} has only one name server; use at least two to survive an outage").format(
            zone=near.zone
        )
        yield Violation(Severity.WARNING, "ns-few", near.zone, rdtypes.NS, message)


def _ttl(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    if not 0 <= rrset.ttl <= MAX_TTL:
        yield error(
            rrset,
            "ttl-range",
            gettext("the TTL {ttl} is out of range (0 to {max_ttl} seconds)").format(ttl=rrset.ttl, max_ttl=MAX_TTL),
        )
    elif rrset.ttl < LOW_TTL:
        yield warning(
            rrset,
            "ttl-low",
            gettext("{zone} has a low TTL, so resolvers ask again every {ttl} seconds").format(
                zone=what(near.zone, rrset), ttl=rrset.ttl
            ),
        )


def _single(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    if len(rrset.served) > 1:
        code = f"{rdata.type_to_text(rrset.type).lower()}-single"
        yield error(rrset, code, gettext("{zone} can have only one record").format(zone=what(near.zone, rrset)))


def _apex_types(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    """Yield errors for an SOA or DNSKEY outside the apex (RFC 4034 2.1.1), and for a DS at the apex (RFC 4035 2.4)."""
    at_apex = rrset.name == near.zone
    if rrset.type in _ONLY_AT_APEX and not at_apex:
        word = rdata.type_to_text(rrset.type)
        message = gettext("a {word} is only allowed at {zone}, not at {display}").format(
            word=word, zone=near.zone, display=near.display(rrset.name)
        )
        yield error(rrset, f"{word.lower()}-not-apex", message)
    elif rrset.type == rdtypes.DS and at_apex:
        yield error(
            rrset, "ds-at-apex", gettext("the DS record for {zone} belongs in the parent zone").format(zone=near.zone)
        )


def _alone(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    here: Set[int] = near.at(rrset.name).keys()
    if rrset.type != rdtypes.CNAME and len(here) == 1:
        return
    here = here - {rdtypes.RRSIG}
    if rrset.type == rdtypes.CNAME and rrset.name == near.zone:
        message = gettext("a CNAME is not allowed at the zone apex {zone}: {near}").format(
            zone=near.zone, near=_instead_of_cname(near)
        )
        yield error(rrset, "cname-at-apex", message)
    elif rdtypes.CNAME in here and len(here) > 1:
        others = ", ".join(sorted(rdata.type_to_text(t) for t in here if t != rdtypes.CNAME))
        message = gettext("a CNAME must be the only record at a name, but {display} also has {others}").format(
            display=near.display(rrset.name), others=others
        )
        yield Violation(Severity.ERROR, "cname-alone", rrset.name, rdtypes.CNAME, message)
    if rdtypes.ALIAS in here and rrset.type in ADDRESSES and {rdtypes.A, rdtypes.AAAA} & here:
        message = gettext("an ALIAS replaces A and AAAA records, so {display} cannot have both").format(
            display=near.display(rrset.name)
        )
        yield Violation(Severity.ERROR, "alias-beside", rrset.name, rdtypes.ALIAS, message)


def _instead_of_cname(near: Neighbourhood) -> str:
    if reason := near.unanswered.get(rdtypes.ALIAS):
        return gettext("use A and AAAA records instead ({reason})").format(reason=reason)
    return gettext("use an ALIAS record instead")


def _dname(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    if not near.has_cuts:
        return
    for ancestor in near.ancestors(rrset.name):
        if rdtypes.DNAME in near.at(ancestor):
            dname = near.display(ancestor)
            yield error(
                rrset,
                "dname-below",
                gettext("{display} is below the DNAME {dname}").format(display=near.display(rrset.name), dname=dname),
            )
            return
    if rrset.type == rdtypes.DNAME and (under := near.below.get(rrset.name)):
        listed = ", ".join(near.display(name) for name in under)
        yield error(
            rrset,
            "dname-below",
            gettext("no names are allowed below the DNAME {display}: {listed}").format(
                display=near.display(rrset.name), listed=listed
            ),
        )
    here = near.at(rrset.name)
    if rdtypes.DNAME in here and rdtypes.NS in here and rrset.name != near.zone and rrset.type in (2, rdtypes.DNAME):
        message = gettext("{display} cannot be both a DNAME and a delegation").format(display=near.display(rrset.name))
        yield Violation(Severity.ERROR, "dname-beside-ns", rrset.name, rdtypes.DNAME, message)


def _nesting(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    answering = near.answered_by.get(rrset.name)
    if answering is not None and is_shadowed(rrset, answering, near.at(answering).get(rdtypes.NS)):
        message = gettext("{zone} is never served because the zone {answering} answers for this name").format(
            zone=what(near.zone, rrset), answering=answering
        )
        yield warning(rrset, "shadowed", message)


def _delegation(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    if near.answered_by.get(rrset.name, rrset.name) != rrset.name:
        return  # `_nesting` reports this
    if not near.has_cuts and rrset.type != rdtypes.DS:
        return
    cut = near.cut_above(rrset.name)
    here = near.at(rrset.name)
    if cut is None and rdtypes.NS in here and rrset.name != near.zone and rrset.type not in AT_A_CUT:
        if rrset.name in near.answered_by:
            return
        cut = rrset.name
    if cut is not None:
        glue = rrset.type in (rdtypes.A, rdtypes.AAAA) and rrset.name in targets_of(near.at(cut)[rdtypes.NS])
        if not glue:
            message = gettext("{zone} is never served because {display} is delegated to other servers").format(
                zone=what(near.zone, rrset), display=near.display(cut)
            )
            yield warning(rrset, "occluded", message)
        return
    if rrset.type == rdtypes.NS and rrset.name != near.zone:
        glued = targets_of(rrset)
        hidden = [name for name in near.below.get(rrset.name, ()) if name not in glued]
        if hidden:
            listed = ", ".join(near.display(name) for name in hidden)
            message = gettext("the delegation of {display} hides these names: {listed}").format(
                display=near.display(rrset.name), listed=listed
            )
            yield warning(rrset, "occludes", message)
    if rrset.type == rdtypes.DS and rrset.name != near.zone and rdtypes.NS not in here:
        yield warning(
            rrset,
            "ds-without-ns",
            gettext("{zone} has no effect without NS records at the same name").format(zone=what(near.zone, rrset)),
        )


def _owner(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    if rrset.name.endswith(near.doubled_ending):
        message = gettext("{name} ends in the zone name twice: check for a missing trailing dot").format(
            name=rrset.name
        )
        yield warning(rrset, "doubled-name", message)
    if rrset.name.startswith("*."):
        if rrset.type == rdtypes.ALIAS:
            yield error(
                rrset,
                "wildcard-alias",
                gettext("PowerDNS doesn’t answer an ALIAS at a wildcard; use A and AAAA records instead"),
            )
        elif rrset.type == rdtypes.NS:
            yield warning(
                rrset, "wildcard-ns", gettext("resolvers differ in how they handle NS records at a wildcard (RFC 4592)")
            )
        else:
            message = gettext("the wildcard {display} answers for all matching names that do not exist").format(
                display=near.display(rrset.name)
            )
            yield note(rrset, "wildcard", message)


def needs_alias(zone: str, rrset: RRset) -> bool:
    """Return True if clients can reach an RRset only through an alias that points to its name."""
    if rrset.type in value_rules.OWNERS:
        return value_rules.is_misplaced(rrset.name, rrset.type)
    return rrset.type in value_rules.HOST_OWNERS and not value_rules.is_host_below(rrset.name, zone)


def _host_owner(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    """Yield a warning if an address or MX is at a name that isn't a host name, unless an alias makes it reachable."""
    zone = near.zone
    if not needs_alias(zone, rrset) or ("\\@" in rrset.name and name_rules.has_at_sign(rrset.name, zone)):
        return
    if not any(value_rules.is_host_below(name, zone) for name in near.names_leading_to(rrset.name)):
        message = gettext(
            "{display} isn’t a valid host name, which can only have letters, digits and hyphens (RFC 1123)"
        )
        yield warning(rrset, "owner-not-host", message.format(display=near.display(rrset.name)))


def _mail(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    for severity, code, message in mail_rules.check_txt(rrset):
        yield Violation(Severity(severity), code, rrset.name, rrset.type, message)


def _values(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    for severity, code, message in value_rules.check_values(rrset):
        if code in value_rules.OWNER_CODES and not all(
            value_rules.is_misplaced(name, rrset.type) for name in near.names_leading_to(rrset.name)
        ):
            continue  # clients find it through an alias (RFC 6698 A.2)
        yield Violation(Severity(severity), code, rrset.name, rrset.type, message)


def unreadable_values(zone: str, rrset: RRset, unanswered: Mapping[int, str]) -> Iterator[Violation]:
    """Yield an error for each served value that some node can't read, because its name would get SERVFAIL there.

    `unanswered` has the reasons against kinds that some node can't read (`computed_types.reasons_against`).
    """
    for text in rrset.served:
        if reason := unreadable.reason_against(rrset.type, text, unanswered):
            yield error(rrset, "value-unanswered", f"{what(zone, rrset)}: {reason}")


def _unreadable(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    return unreadable_values(near.zone, rrset, near.unanswered)


def _at_signs(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    for severity, code, message in name_rules.check_at_signs(rrset, near.zone):
        yield Violation(Severity(severity), code, rrset.name, rrset.type, message)


def _soa_names(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    def exists(name: str) -> bool:
        answers = near.answers_at(name)
        return answers is None or bool(answers)

    for severity, code, message in name_rules.check_soa(rrset, near.zone, exists):
        yield Violation(Severity(severity), code, rrset.name, rrset.type, message)


def _look_alikes(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    """Yield findings about confusable labels in the RRset's name, and notes about those in its targets.

    Labels of the zone's own name are checked only for the SOA.
    """
    if _INTERNATIONAL in rrset.name:
        labels = names.labels(rrset.name)
        own = labels if rrset.type == rdtypes.SOA else _below_zone(near, labels)
        for severity, code, message in value_rules.look_alikes(own):
            yield Violation(Severity(severity), code, rrset.name, rrset.type, message)
    if rrset.type not in rdata.POINTING or not any(_INTERNATIONAL in text for text in rrset.served):
        return
    for target in sorted(targets_of(rrset)):
        labels = names.labels(target)
        if names.is_within(target, near.zone):
            labels = _below_zone(near, labels)
        for _, code, message in value_rules.look_alikes(labels):
            yield note(
                rrset,
                code,
                gettext("{zone} points to {target}: {message}").format(
                    zone=what(near.zone, rrset), target=target, message=message
                ),
            )


def _below_zone(near: Neighbourhood, labels: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return labels[: len(labels) - len(names.labels(near.zone))]


def _addresses(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    private = [text for text in rrset.served if _is_private(text)]
    if private:
        message = gettext("not reachable from the Internet: {list}").format(list=", ".join(private))
        yield note(rrset, "private-address", message)


def _svcb(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    if any(map(_is_bad_ech, rrset.served)):
        message = gettext(
            "the ech value in {zone} isn’t a valid ECHConfigList (RFC 9849), so clients ignore it"
        ).format(zone=what(near.zone, rrset))
        yield warning(rrset, "ech-malformed", message)


def _is_bad_ech(text: str) -> bool:
    """Return True if the value has an `ech` parameter that is too short or has a wrong length prefix."""
    _, found, rest = text.partition(' ech="')
    value = binascii.a2b_base64(rest.partition('"')[0]) if found else b""
    return bool(found) and (len(value) < 6 or int.from_bytes(value[:2], "big") != len(value) - 2)


def _is_private(text: str) -> bool:
    if text.startswith(_PRIVATE_BEGINNINGS):
        return True
    if not text.startswith(_MAYBE_PRIVATE):
        return False
    family = AF_INET6 if ":" in text else AF_INET
    address = int.from_bytes(inet_pton(family, text), "big")
    return any(address & mask == network for mask, network in _PRIVATE[family])


Rule = Callable[[Neighbourhood, RRset], Iterator[Violation]]
# Each rule with its types. None: all types.
_RULES: tuple[tuple[Rule, frozenset[int] | None], ...] = (
    (_ttl, None),
    (_single, frozenset((rdtypes.SOA, rdtypes.CNAME, rdtypes.DNAME))),
    (_apex_types, _ONLY_AT_APEX | {rdtypes.DS}),
    (_alone, None),
    (_dname, None),
    (_nesting, None),
    (_delegation, None),
    (check_targets, rdata.POINTING),
    (_owner, None),
    (_host_owner, value_rules.HOST_OWNERS),
    (_mail, frozenset((rdtypes.TXT,))),
    (_values, value_rules.TYPES),
    (_unreadable, unreadable.TYPES),
    (_at_signs, None),
    (_soa_names, frozenset((rdtypes.SOA,))),
    (_look_alikes, None),
    (_addresses, frozenset((rdtypes.A, rdtypes.AAAA))),
    (_svcb, frozenset((rdtypes.SVCB, rdtypes.HTTPS))),
)


@cache
def _rules_of(type: int) -> tuple[Rule, ...]:
    return tuple(rule for rule, types in _RULES if types is None or type in types)
