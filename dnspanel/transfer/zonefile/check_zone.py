"""Check the zone rules after a zone file is read: scan all RRsets quickly, then run the rules on the suspects.

`suspects` finds every RRset that can have an error or a warning from `rules.check_zone`, and takes little time for a
zone without suspects. `violations` runs the rules on the suspects. A test checks that both functions together find
everything that the rules find in the whole zone. Notes are left out, because an import of thousands of zones would have
too many.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from dnspanel.small_cache import small_cache
from dnspanel.transfer.documents import ReadyRRset
from dnspanel.transfer.zonefile.zonefile_content import (
    APEX,
    TAIL_A,
    TAIL_AAAA,
    TAIL_CNAME,
    TAIL_NS,
    TAIL_SOA,
    Content,
    type_tail,
)
from dnspanel.zones.rules import mail_rules, neighbourhood, rules
from dnspanel.zones.rules.name_rules import is_doubtful_soa
from dnspanel.zones.rules.value_rules import breaks_hosts, is_misplaced
from dnspanel.zones.rules.violations import Severity, Violation
from replication.codec.keys import name_from_relative_key, relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Key, RRset

_BATCH = 200  # suspects per call of the rules, which also read the neighboring RRsets
_MOST_SLIGHT = 2_000  # suspects that are checked for warnings only
_TAIL_ALIAS, _TAIL_LUA, _TAIL_DNAME, _TAIL_DS, _TAIL_CAA = map(
    type_tail, (rdtypes.ALIAS, rdtypes.LUA, rdtypes.DNAME, rdtypes.DS, rdtypes.CAA)
)
APEX_SOA, APEX_NS = APEX + TAIL_SOA, APEX + TAIL_NS
# The beginnings of strings that the mail rules check, also after an empty string.
_TAGS = frozenset(("v=", "V=", 'v"', 'V"', '" '))
# Types whose owner names contain a service or port.
_SERVICES = frozenset((rdtypes.SRV, rdtypes.TLSA))
# Other types whose values contain host names.
_HOSTS = frozenset((rdtypes.MX, rdtypes.NS))
# The ends of record keys of host types: A, MX, AAAA, ALIAS.
_HOST_ENDS = (b"\0\0\x01", b"\0\0\x0f", b"\0\0\x1c", b"\0\xff\x79")
# A wildcard, or a label that no host name has.
_ODD_LABEL = re.compile(rb"[^\0a-z0-9-]|(?:^|\0)-|-\0")
_STOPS = _SERVICES | {rdtypes.NS, rdtypes.CNAME, rdtypes.SOA, rdtypes.MX, rdtypes.TXT, rdtypes.DNAME, rdtypes.DS}


class Suspects:
    """The record keys of RRsets to check with the rules: `grave` for possible errors, `slight` for possible warnings.

    `aliases` has the CNAMEs that lead to names where clients look for a service or host in vain. If the zone has a
    DNAME, `aliases` has all CNAMEs and DNAMEs, because a DNAME can turn CNAMEs into loops.
    """

    def __init__(self) -> None:
        self.grave: dict[bytes, None] = {}
        self.slight: dict[bytes, None] = {}
        self.aliases: dict[Key, RRset] = {}


def suspects(content: Content, ordered: list[bytes]) -> Suspects:
    """Return all RRsets that can violate a rule. `ordered` are the sorted record keys."""
    found = Suspects()
    misplaced, has_cuts = _suspect_by_type(content, ordered, found)
    odd_hosts = [key for key in ordered if key.endswith(_HOST_ENDS) and _ODD_LABEL.search(key, 0, len(key) - 3)]
    found.slight |= dict.fromkeys(odd_hosts)
    misplaced.update(content.sets[record].name for record in odd_hosts)
    _suspect_aliases(content, ordered, misplaced, found)
    _suspect_apex(content, found)
    _suspect_noted(content, ordered, found)
    if has_cuts:
        _suspect_below(content, ordered, found)
    if content.hosts or content.aliases:
        _suspect_targets(content, ordered, found)
    return found


def _suspect_by_type(content: Content, ordered: list[bytes], found: Suspects) -> tuple[set[str], bool]:
    """Add RRsets that can violate a rule for their type to the suspects.

    Return the names of services that clients can't find, and True if there are delegations, DNAMEs or DS records.
    """
    sets, stops = content.sets, _STOPS
    has_cuts = False
    misplaced: set[str] = set()
    for at, record in enumerate(ordered):
        if record[-1] not in stops or record[-2]:
            continue
        type_ = record[-1]
        if type_ == rdtypes.TXT:
            if _is_mail_suspect(sets[record]):
                found.slight[record] = None
        elif type_ == rdtypes.CNAME:
            _suspect_cname(content, ordered, at, found)
        elif type_ == rdtypes.SOA:
            _suspect_soa(content, record, found)
        elif type_ in _SERVICES:
            _suspect_service(record, sets[record], misplaced, found)
        elif record != APEX_NS:
            has_cuts = has_cuts or type_ != rdtypes.MX
            if type_ in _HOSTS and breaks_hosts(type_, sets[record].texts):
                found.slight[record] = None
    return misplaced, has_cuts


def _suspect_cname(content: Content, ordered: list[bytes], at: int, found: Suspects) -> None:
    record = ordered[at]
    rrset = content.sets[record]
    if _is_cname_suspect(rrset, ordered[at - 1] if at else b"", ordered[at + 1 : at + 2]):
        found.grave[record] = None
    if rrset.name.startswith("*."):  # it can be a loop
        found.slight[record] = None


def _suspect_soa(content: Content, record: bytes, found: Suspects) -> None:
    texts = content.sets[record].texts
    if record != APEX_SOA or len(texts) > 1:
        found.grave[record] = None
    elif is_doubtful_soa(texts[0], content.zone):
        found.slight[record] = None


def _suspect_service(record: bytes, rrset: ReadyRRset, misplaced: set[str], found: Suspects) -> None:
    is_elsewhere = is_misplaced(rrset.name, rrset.type)
    if is_elsewhere:
        misplaced.add(rrset.name)
    if is_elsewhere or breaks_hosts(rrset.type, rrset.texts):
        found.slight[record] = None


def _suspect_aliases(content: Content, ordered: list[bytes], misplaced: set[str], found: Suspects) -> None:
    """Store the CNAMEs to misplaced services as `aliases`. If the zone has a DNAME, all CNAMEs become suspects."""
    has_dname = any(record.endswith(_TAIL_DNAME) for record in content.special)
    if misplaced or has_dname:
        found.aliases = _aliases_to(content, ordered, misplaced)
    if has_dname:  # a DNAME can turn them into loops
        found.slight |= {record: None for record in ordered if record.endswith(TAIL_CNAME)}


def _suspect_noted(content: Content, ordered: list[bytes], found: Suspects) -> None:
    """Add RRsets with internationalized names, and RRsets that the reader marked, to the suspects."""
    if content.special:
        found.grave |= dict.fromkeys(content.special)
    if content.has_doubtful_caa:
        found.slight |= {record: None for record in ordered if record.endswith(_TAIL_CAA)}
    if content.low_ttls:
        found.slight |= dict.fromkeys(content.low_ttls)
    found.slight |= {record: None for record in ordered if b"xn--" in record}
    if "xn--" in content.zone:
        found.slight[APEX_SOA] = None


def _aliases_to(content: Content, ordered: list[bytes], ends: set[str]) -> dict[Key, RRset]:
    """Return the CNAMEs that lead to these names, directly or through other CNAMEs.

    If the zone has a DNAME, return all of the zone's CNAMEs and DNAMEs.
    """
    sets = content.sets
    owners: dict[str, list[ReadyRRset]] = {}
    for record in ordered:
        if record.endswith(TAIL_CNAME):
            owners.setdefault(sets[record].texts[0].lower(), []).append(sets[record])
    found = {(sets[r].name, sets[r].type): _rrset(sets[r]) for r in ordered if r.endswith(_TAIL_DNAME)}
    todo = [*ends, *(owners if found else ())]
    while todo:
        for ready in owners.pop(todo.pop(), ()):
            found[ready.name, ready.type] = _rrset(ready)
            todo.append(ready.name)
    return found


def _suspect_apex(content: Content, found: Suspects) -> None:
    servers = content.sets.get(APEX_NS)
    if servers is None or APEX_SOA not in content.sets:
        found.grave[APEX_SOA] = None
    elif len(servers.texts) < 2 or breaks_hosts(rdtypes.NS, servers.texts):
        found.slight[APEX_NS] = None


def _is_cname_suspect(rrset: ReadyRRset, before: bytes, after: list[bytes]) -> bool:
    own = rrset.key + b"\0"
    if len(rrset.texts) > 1 or rrset.key == APEX or rrset.texts[0].lower() == rrset.name:
        return True
    return before[:-2] == own or (bool(after) and after[0][:-2] == own)


def _is_mail_suspect(rrset: ReadyRRset) -> bool:
    if rrset.name.startswith("_dmarc."):
        return _breaks_mail_rules("_dmarc.test.", rrset.texts)
    if mail_rules.is_of_dkim_key(rrset.name):
        return _breaks_mail_rules("a._domainkey.test.", rrset.texts)
    if len(rrset.texts) == 1 and rrset.texts[0][1:3] not in _TAGS:
        return False
    return _breaks_mail_rules("test.", rrset.texts)


@small_cache(entries=4096, longest=1024)
def _breaks_mail_rules(name: str, texts: tuple[str, ...]) -> bool:
    found = mail_rules.check_txt(RRset(name, rdtypes.TXT, rules.LOW_TTL, texts))
    return any(severity != Severity.NOTE for severity, _, _ in found)


def _suspect_below(content: Content, ordered: list[bytes], found: Suspects) -> None:
    """Add DNAMEs, delegations without glue and misplaced DS records to the suspects.

    Also add records at or below delegations, except glue, and records below DNAMEs.
    """
    sets = content.sets
    dname = APEX if APEX + _TAIL_DNAME in sets else b""
    cut, glue = b"", frozenset[str]()
    for record in ordered:
        key, tail = record[:-3], record[-3:]
        if dname and key != dname and (dname == APEX or key.startswith(dname)):
            found.grave[record] = None
        elif tail == _TAIL_DNAME:
            found.grave[record] = None
            dname = key
        if cut and key.startswith(cut):
            is_glue = key != cut and tail in (TAIL_A, TAIL_AAAA) and sets[record].name in glue
            if not is_glue and not (key == cut and tail in (TAIL_NS, _TAIL_DS)):
                found.slight[record] = None
        elif tail == TAIL_NS and key != APEX:
            cut, glue = key, frozenset(sets[record].texts)
            if key + TAIL_A in sets:
                found.slight[key + TAIL_A] = None
            if not _has_glue(content, sets[record]):
                found.slight[record] = None
        elif tail == _TAIL_DS:
            (found.grave if key == APEX else found.slight)[record] = None


def _has_glue(content: Content, servers: ReadyRRset) -> bool:
    """Return True if every name server below the delegation has an address. Return False for a wildcard delegation."""
    for target in map(str.lower, servers.texts):
        if target == servers.name or target.endswith("." + servers.name):
            key = relative_key(target, content.zone)
            if key + TAIL_A not in content.sets and key + TAIL_AAAA not in content.sets:
                return False
    return not servers.name.startswith("*.")


def _suspect_targets(content: Content, ordered: list[bytes], found: Suspects) -> None:
    """Add RRsets to the suspects if a target is missing, has no address, is in a loop or repeats the zone's name."""
    sets = content.sets
    doubled = content.zone_key
    suspicious = {
        key for key in content.hosts if key.startswith(doubled) or not (key + TAIL_A in sets or key + TAIL_AAAA in sets)
    }
    circling: dict[bytes, bool] = {}
    for key in content.aliases:
        if key + TAIL_CNAME in sets:
            if _leads_in_a_circle(content, key, circling):
                suspicious.add(key)
        elif key.startswith(doubled) or not (key + TAIL_A in sets or _exists(key, ordered)):
            suspicious.add(key)
    if not suspicious:
        return
    names_ = {name_from_relative_key(key, content.zone) for key in suspicious}
    for record in ordered:
        rrset = sets[record]
        if any(target in names_ for text in rrset.texts for target in rdata.targets(rrset.type, text)):
            found.slight[record] = None
            if len(found.slight) >= _MOST_SLIGHT:
                return


def below(ordered: list[bytes], key: bytes) -> Iterator[bytes]:
    """Yield the record keys of a name and of all names below it. These keys begin with `key`."""
    for record in islice(ordered, bisect_left(ordered, key), None):
        if not record.startswith(key):
            return
        yield record


def _exists(key: bytes, ordered: list[bytes]) -> bool:
    at = bisect_left(ordered, key + b"\0")
    return at < len(ordered) and ordered[at].startswith(key + b"\0")


def _leads_in_a_circle(content: Content, key: bytes, known: dict[bytes, bool]) -> bool:
    """Return True if the CNAME chain from this key leads to a loop. Add the result for each key to `known`."""
    passed: dict[bytes, bool] = {}
    found = False
    while key not in known:
        alias = content.sets.get(key + TAIL_CNAME)
        found = key in passed
        if found or alias is None or not names.is_within(alias.texts[0].lower(), content.zone):
            break
        passed[key] = True
        key = relative_key(alias.texts[0].lower(), content.zone)
    else:
        found = known[key]
    known.update(dict.fromkeys(passed, found))
    return found


def violations(
    content: Content, ordered: list[bytes], found: Suspects, unanswered: Mapping[int, str]
) -> Iterator[Violation]:
    """Run the rules on the suspects. Yield errors, then warnings, which cover at most _MOST_SLIGHT suspects."""
    if not found.grave and not found.slight:
        return
    told: set[Violation] = set()
    for severity, chosen in ((Severity.ERROR, found.grave), (Severity.WARNING, found.slight | found.grave)):
        records = iter(islice(chosen, _MOST_SLIGHT if severity is Severity.WARNING else None))
        while batch := list(islice(records, _BATCH)):
            for violation in _ask(content, ordered, batch, unanswered, found.aliases):
                if violation.severity is severity and violation not in told:
                    told.add(violation)
                    yield violation


def _ask(
    content: Content,
    ordered: list[bytes],
    records: Sequence[bytes],
    unanswered: Mapping[int, str],
    aliases: Mapping[Key, RRset],
) -> list[Violation]:
    """Return the violations of these RRsets and of other RRsets at the same names.

    All RRsets at a name matter, because a record at the same name as a CNAME violates a rule.
    """
    zone = content.zone
    keys = dict.fromkeys(record[:-2] for record in records if record in content.sets)
    rrsets = [_rrset(content.sets[record]) for key in keys for record in below(ordered, key)]
    near = {(rrset.name, rrset.type): rrset for rrset in rrsets}
    changed = set(near)
    near.update(aliases)
    if APEX_SOA in records:
        changed.add((zone, rdtypes.SOA))
    for name in neighbourhood.names_to_know(zone, rrsets):
        for record in below(ordered, relative_key(name, zone) + b"\0"):
            rrset = _rrset(content.sets[record])
            near[rrset.name, rrset.type] = rrset
    under = {rrset.name: _names_below(content, ordered, rrset) for rrset in rrsets if rrset.type == rdtypes.DNAME}
    return rules.check_zone(zone, near, changed, below=under, allow_lua=True, unanswered=unanswered)


def _rrset(ready: ReadyRRset) -> RRset:
    return RRset(ready.name, ready.type, ready.ttl, ready.texts, ready.disabled, ready.comment)


def _names_below(content: Content, ordered: list[bytes], dname: RRset) -> tuple[str, ...]:
    """Return the first three names below a DNAME."""
    key = relative_key(dname.name, content.zone)
    under = ordered if key == APEX else below(ordered, key)
    found: dict[str, None] = {}
    for record in under:
        name = content.sets[record].name
        if name != dname.name:
            found[name] = None
            if len(found) == 3:
                break
    return tuple(found)
