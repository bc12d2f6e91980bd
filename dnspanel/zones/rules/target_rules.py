"""Check the names that RRsets point to: missing names, aliases, loops and glue. Pure."""

from collections.abc import Iterator, Mapping

from dnspanel.texts import gettext
from dnspanel.zones.rules.neighbourhood import MAX_CHAIN, Neighbourhood, alias_target, name_below, targets_of, what
from dnspanel.zones.rules.violations import Violation, error, warning
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset

ADDRESSES = frozenset((rdtypes.A, rdtypes.AAAA, rdtypes.ALIAS))
HOST_TARGETS = frozenset((rdtypes.MX, rdtypes.NS, rdtypes.SRV))


def check_targets(near: Neighbourhood, rrset: RRset) -> Iterator[Violation]:
    targets = targets_of(rrset)
    if not targets or near.cut_above(rrset.name):
        return
    for target in sorted(targets):
        if rrset.type == rdtypes.CNAME and target == rrset.name:
            yield error(
                rrset,
                "cname-loop",
                gettext("the CNAME {display} points to itself").format(display=near.display(rrset.name)),
            )
        elif rrset.type == rdtypes.DNAME:
            if _dname_loops(near, rrset.name, target):
                message = gettext(
                    "the DNAME {display} points below itself, so names below {display} cannot be resolved"
                )
                yield warning(rrset, "dname-loop", message.format(display=near.display(rrset.name)))
        elif names.is_within(target, near.zone):
            yield from _target_within(near, rrset, target)
        if target.endswith(near.doubled_ending):
            yield warning(
                rrset,
                "doubled-name",
                gettext("{target} ends with the zone name twice; a trailing dot might be missing").format(
                    target=target
                ),
            )


def _target_within(near: Neighbourhood, rrset: RRset, target: str) -> Iterator[Violation]:
    if rrset.type == rdtypes.NS and rrset.name != near.zone and names.is_within(target, rrset.name):
        if not {rdtypes.A, rdtypes.AAAA} & near.at(target).keys():
            message = gettext("the delegation {display} needs an A or AAAA record at {target} as glue").format(
                display=near.display(rrset.name), target=target
            )
            yield warning(rrset, "glue-missing", message)
        return
    if rrset.type == rdtypes.CNAME and _loops(near, rrset.name, target):
        yield warning(
            rrset,
            "cname-loop",
            gettext("the CNAME {display} leads back to itself").format(display=near.display(rrset.name)),
        )
        return
    answers = near.answers_at(target)
    if answers is None:
        return
    if fault := fault_of_target(near.zone, rrset, target, answers):
        yield fault


def fault_of_target(zone: str, rrset: RRset, target: str, answers: Mapping[int, RRset]) -> Violation | None:
    """Return a warning if clients can't use an RRset's target, or None. `answers` has the RRsets at the target."""
    if rrset.type in HOST_TARGETS and rdtypes.CNAME in answers:
        message = gettext("{zone} points to {target}, which is a CNAME; the target must have A or AAAA records").format(
            zone=what(zone, rrset), target=target
        )
        return warning(rrset, "target-is-cname", message)
    if rrset.type in HOST_TARGETS and not has_address(answers):
        return warning(
            rrset,
            "target-missing",
            gettext("{zone} points to {target}, which doesn’t have an address").format(
                zone=what(zone, rrset), target=target
            ),
            target,
        )
    if not answers:
        return warning(
            rrset,
            "target-missing",
            gettext("{zone} points to {target}, which does not exist").format(zone=what(zone, rrset), target=target),
            target,
        )
    return None


def has_address(answers: Mapping[int, RRset]) -> bool:
    """Return True if the answers have A, AAAA or ALIAS records, or a LUA record, which can compute addresses."""
    # A LUA record can return addresses, but only its code shows if it does.
    return not (ADDRESSES | {rdtypes.LUA}).isdisjoint(answers.keys())


def _loops(near: Neighbourhood, start: str, target: str) -> bool:
    """Return True if CNAMEs and DNAMEs lead from a target back to the CNAME at `start`, which can be at a wildcard."""
    if target in near.answered_by:
        return False
    if start.startswith("*.") and near.answers_at(target) is near.by_name.get(start, start):
        return True
    following: str | None = target
    for _ in range(MAX_CHAIN):
        if following is None or following == start:
            break
        following = alias_target(near.zone, near.rrsets, following)
    return following == start


def _dname_loops(near: Neighbourhood, start: str, target: str) -> bool:
    """Return True if DNAMEs lead each name below `start` to another name below `start`, in an endless loop."""
    following: str | None = name_below(target)
    for _ in range(MAX_CHAIN):
        if following is None or names.is_within(following, start):
            break
        following = alias_target(near.zone, near.rrsets, following)
    return following is not None and following != start and names.is_within(following, start)
