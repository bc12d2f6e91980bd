"""Report faults and notes about a zone as a whole: data that was left out or changed, and violated rules."""

from bisect import bisect_left
from itertools import islice

from dnspanel.texts import gettext, ngettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.zonefile import check_zone
from dnspanel.transfer.zonefile.fixes import at_sign_fix, replace_token, soa_name_fix, target_fix
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.zonefile_content import TAIL_A, TAIL_AAAA, type_tail
from dnspanel.transfer.zonefile.zonefile_tokens import Token, Unreadable, read_entry
from dnspanel.zones.rules.name_rules import AT_SIGN, MAILBOXES, SOA_CODES
from dnspanel.zones.rules.unreadable import kind_of
from dnspanel.zones.rules.violations import Severity, Violation
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes

# Rules about the last name in the rdata.
_ABOUT_TARGETS = frozenset(("target-missing", "target-is-cname", "glue-missing", "doubled-name", "cname-loop"))
# Other rules that a target with an @ inside breaks.
_OF_AT_SIGNS = frozenset(("target-missing", "target-not-host"))
_FIXED_BY_DOT = frozenset(("target-missing", "doubled-name"))
DNSSEC_LEFT_OUT = "dnssec-left-out"


def text_of_unsigned() -> str:
    """Return the warning that a zone signed elsewhere becomes unsigned."""
    return gettext(
        "The zone will be served unsigned. If the parent has a DS record, remove it first and wait until "
        "its TTL has passed. Otherwise validating resolvers won’t be able to resolve the zone."
    )


_MISSING = {"soa-missing": rdtypes.SOA, "apex-ns-missing": rdtypes.NS}


def report_notes(reader: Reader) -> None:
    """Report a note or a warning for each kind of data that was left out or changed."""
    content, zone = reader.content, reader.zone
    if lua := reader.left_out.pop(rdtypes.LUA, None):
        count, place = lua
        reason = ngettext(
            "{count:,} LUA record left out. LUA records run code on the name servers, so the operator must "
            "allow them, and you need the permission for them.",
            "{count:,} LUA records left out. LUA records run code on the name servers, so the operator must "
            "allow them, and you need the permission for them.",
            count,
        ).format(count=count)
        reader.warn(place, Unreadable(reason, "lua-left-out"))
    if reader.left_out:
        _report_signatures(reader)
    if reader.outside:
        count = len(reader.outside)
        reason = ngettext(
            "{count:,} record left out: outside {zone}", "{count:,} records left out: outside {zone}", count
        ).format(count=count, zone=zone)
        reader.warn(reader.outside[0], Unreadable(reason, "out-of-zone"))
    doubles = [place for place in content.duplicates if not _is_soa(reader, place)]
    if doubles:
        reason = ngettext(
            "{count:,} duplicate record left out", "{count:,} duplicate records left out", len(doubles)
        ).format(count=len(doubles))
        reader.report(doubles[0], Unreadable(reason, "duplicate"), Severity.NOTE)
    if content.other_ttls:
        record, (ttl, place) = next(iter(content.other_ttls.items()))
        rrset = content.sets[record]
        count = len(content.other_ttls)
        reason = gettext(
            "{type} {name} has records with TTL {first} and {other}. All records in an RRset must have the "
            "same TTL, so the first one is used: {first}"
        ).format(type=rdata.type_to_text(rrset.type), name=rrset.name, first=rrset.ttl, other=ttl)
        if count > 1:
            reason = gettext("{reason} ({count:,} such RRsets in this zone)").format(reason=reason, count=count)
        reader.report(place, Unreadable(reason, "ttl-differs"), Severity.NOTE)


def _report_signatures(reader: Reader) -> None:
    """Report a single warning for all records of DNSSEC's own types, because the zone loses its signatures."""
    listed = ", ".join(
        f"{count:,} {rdata.type_to_text(type_)}" for type_, (count, _) in sorted(reader.left_out.items())
    )
    reason = gettext(
        "The zone is signed, but this file doesn’t contain its keys. Left out: {listed}. {unsigned}"
    ).format(listed=listed, unsigned=text_of_unsigned())
    place = min(place for _, place in reader.left_out.values())
    reader.warn(place, Unreadable(reason, DNSSEC_LEFT_OUT))


def _is_soa(reader: Reader, place: int) -> bool:
    """Return True if the line is an SOA record, which the file of a transferred zone has at its start and its end."""
    return " SOA " in reader.line_at(place).replace("\t", " ").upper()


def report_violations(reader: Reader, ordered: list[bytes]) -> None:
    """Report the rules that the zone violates, once each, at the line of a faulty record if there is one.

    If the zone has errors, leave out warnings, and violations that an unreadable record causes.
    """
    content = reader.content
    for record in content.too_large:
        rrset = content.sets[record]
        reason = gettext("the {type} values at {name} are too large for one DNS answer").format(
            type=rdata.type_to_text(rrset.type), name=rrset.name
        )
        reader.report(content.place_of(record), Unreadable(reason, "rrset-too-large"))
    _report_doubled(reader, ordered)
    found = check_zone.suspects(content, ordered)
    if not reader.quick:
        found.grave = dict.fromkeys(ordered)
    with_at_sign: set[tuple[str, int]] = set()
    for violation in check_zone.violations(content, ordered, found, reader.scope.unanswered):
        missing = _MISSING.get(violation.code)
        if missing in reader.failed or (reader.errors and violation.severity is not Severity.ERROR):
            continue  # caused by a record that could not be read
        if _is_reported_already(violation, f".{reader.zone}{reader.zone}"):
            continue
        key = violation.name, violation.type
        if violation.code == AT_SIGN:
            with_at_sign.add(key)
        elif key in with_at_sign and violation.code in _OF_AT_SIGNS:
            continue
        place = None if missing else _place_of(reader, violation)
        reader.report(place, _at_its_word(reader, place, violation), violation.severity)


def _is_reported_already(violation: Violation, doubled: str) -> bool:
    """Return True for an owner or missing target that ends with the zone's name twice (reported separately)."""
    if violation.code == "doubled-name":
        return violation.name.endswith(doubled)
    return violation.code == "target-missing" and doubled in violation.message


def _report_doubled(reader: Reader, ordered: list[bytes]) -> None:
    """Warn about owners that end with the zone's name twice."""
    zone, start = reader.zone, reader.content.zone_key
    at = bisect_left(ordered, start)
    if at == len(ordered) or not ordered[at].startswith(start) or zone == names.ROOT:
        return
    told = ""
    for record in islice(check_zone.below(ordered, start), import_limits.MOST_FAULTS_OF_ZONE):
        name = reader.content.sets[record].name
        if name != told:
            told = name
            place = reader.content.place_of(record)
            reason = gettext("{name} ends in the zone name twice: check for a missing trailing dot").format(name=name)
            owner = _tokens(reader, place)[:1]
            fix = target_fix(reader.line_at(place), owner[0]) if owner else ""
            reader.warn(place, Unreadable(reason, "doubled-name", fix=fix))


def _place_of(reader: Reader, violation: Violation) -> int | None:
    content = reader.content
    record = relative_key(violation.name, reader.zone) + type_tail(violation.type)
    if record not in content.sets:
        return None
    if violation.code in _ABOUT_TARGETS:
        rrset = content.sets[record]
        for text, wire in zip(rrset.texts, rrset.wires, strict=True):
            if any(target in violation.message for target in rdata.targets(rrset.type, text)):
                return content.place_of(record, wire)
    if violation.code == AT_SIGN and violation.name not in violation.message:
        rrset = content.sets[record]
        for text, wire in zip(rrset.texts, rrset.wires, strict=True):
            if any("\\@" in word and word in violation.message for word in text.split(" ")):
                return content.place_of(record, wire)
    if violation.code == "value-unanswered":
        rrset = content.sets[record]
        unread = (w for text, w in zip(rrset.texts, rrset.wires, strict=True) if kind_of(rrset.type, text) is not None)
        return content.place_of(record, next(unread, rrset.wires[0]))
    if violation.code.endswith("-single"):
        return max((place for _, place in content.more[record].values()), default=content.place_of(record))
    return content.place_of(record)


def _at_its_word(reader: Reader, place: int | None, violation: Violation) -> Unreadable:
    """Return the violation as a fault, with the column of the faulty token and the line that was probably intended."""
    column, fix = 1, ""
    tokens = [] if place is None else _tokens(reader, place)
    if place is not None and tokens:
        line = reader.line_at(place)
        about = tokens[-1] if violation.code in _ABOUT_TARGETS else tokens[0]
        column = about.column
        if violation.code in SOA_CODES:
            about, fix = _soa_word(reader, tokens, SOA_CODES.index(violation.code), line)
            column = about.column
        elif violation.code == AT_SIGN:
            about, fix = _word_with_at_sign(tokens, violation, line)
            column = about.column
        elif violation.code in _FIXED_BY_DOT:
            fix = target_fix(line, about)
        elif violation.code == "cname-at-apex" and rdtypes.ALIAS not in reader.scope.unanswered:
            fix = next(
                (replace_token(line, token, "ALIAS") for token in tokens[:4] if token.text.upper() == "CNAME"), ""
            )
    return Unreadable(violation.message, violation.code, column, fix=fix)


def _soa_word(reader: Reader, tokens: list[Token], field: int, line: str) -> tuple[Token, str]:
    """Return an SOA line's primary (`field` 0) or mailbox (1), and a corrected line, or "" if that is unclear."""
    at = next((at for at, token in enumerate(tokens) if token.text.upper() == "SOA"), len(tokens)) + 1 + field
    if at >= len(tokens):
        return tokens[0], ""
    word = tokens[at]
    if field == 0 and (host := _server_with_address(reader, word.text.removesuffix("."))):
        return word, replace_token(line, word, host)
    return word, soa_name_fix(line, word, reader.zone, is_mailbox=field == 1)


def _server_with_address(reader: Reader, address: str) -> str:
    """Return the zone's name server that has this address in the zone, or "" if none has it."""
    sets = reader.content.sets
    servers = sets[check_zone.APEX_NS].texts if check_zone.APEX_NS in sets else ()
    for server in map(str.lower, servers):
        if names.is_within(server, reader.zone):
            key = relative_key(server, reader.zone)
            if any(address in sets[key + tail].texts for tail in (TAIL_A, TAIL_AAAA) if key + tail in sets):
                return server
    return ""


def _word_with_at_sign(tokens: list[Token], violation: Violation, line: str) -> tuple[Token, str]:
    """Return the token with an @ inside, else the first token, and a corrected line, or "" if that is unclear."""
    is_owner = violation.name in violation.message
    of_record = tokens[:1] if is_owner else tokens[1:]
    inside = (token for token in of_record if not token.quoted and "@" in token.text and token.text != "@")
    word = next(inside, None)
    if word is None:
        return tokens[0], ""
    return word, at_sign_fix(line, word, is_mailbox=not is_owner and violation.type in MAILBOXES)


def _tokens(reader: Reader, place: int) -> list[Token]:
    """Return the tokens of the line at a place, or no tokens if the line is only part of an entry."""
    try:
        return read_entry([reader.line_at(place)]).tokens
    except Unreadable:
        return []
