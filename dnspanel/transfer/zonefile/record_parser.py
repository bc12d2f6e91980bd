"""The slow path of the zone-file parser, which reads records of any type from tokens and reports faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import ReadyRRset, SourceFault
from dnspanel.transfer.zonefile import not_records
from dnspanel.transfer.zonefile.fast import FastReader
from dnspanel.transfer.zonefile.field_tables import seconds
from dnspanel.transfer.zonefile.fixes import (
    bad_owner,
    bad_rdata,
    missing_type,
    replace_token,
    unknown_type,
    unquoted_text,
)
from dnspanel.transfer.zonefile.zonefile_chain import SourceChain
from dnspanel.transfer.zonefile.zonefile_tokens import Entry, Sheet, Token, Unreadable, join_tokens, printable
from dnspanel.zones.rules.rules import LOW_TTL
from dnspanel.zones.rules.unreadable import kind_of
from dnspanel.zones.rules.value_rules import fault_of_caa
from dnspanel.zones.rules.violations import Severity
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rdata_forms import FORMS
from replication.dns.rrset import MAX_TTL
from replication.errors import BadName, BadRdata

PLACES_OF_FILE = 1 << 32
_IN = frozenset(("IN", "CLASS1"))
_CLASSES = frozenset(("CH", "CHAOS", "HS", "HESIOD", "CS", "CSNET"))
_TEXTS = frozenset((rdtypes.TXT, rdtypes.SPF))
# Types that signers and PowerDNS create: signatures, denial of existence, and their predecessors SIG and NXT.
_SIGNED = frozenset((24, 30, 46, 47, 50, 51))
# BIND stores its signing state only at the apex. Below it, the type is an ordinary private type. BIND also signs its
# state, and its NSEC lists the type.
_SIGNED_AT_APEX = frozenset((rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY, rdtypes.SIGNING_STATE))
# Types with rules that need more data than the neighboring records.
_SPECIAL = frozenset((rdtypes.DNAME, rdtypes.ALIAS, rdtypes.LUA))
_UNQUOTED = frozenset(FORMS.keys() - _TEXTS - {rdtypes.LUA, rdtypes.RKEY})
_HOSTS = frozenset((rdtypes.MX, rdtypes.NS, rdtypes.SRV))


class Enough(Exception):
    """Raised if a zone has too many errors. The rest of the zone is not read."""


@dataclass(frozen=True, slots=True)
class Head:
    """An entry's fields before the rdata. `owner` is absolute, and `at` is the index of the first rdata token."""

    owner: str
    ttl: int | None
    type: int
    at: int


@dataclass(frozen=True, slots=True)
class Scope:
    """Settings for reading a zone file: comments, LUA records, signatures, and unsupported types.

    `unanswered` maps types that not every node supports to the reason. RRsets of these types are errors.
    """

    comments: bool
    allow_lua: bool
    unanswered: Mapping[int, str] = field(default_factory=dict)
    signatures: bool = False


class RecordReader(FastReader):
    """Reader that parses records from tokens and collects them in `content`, and faults in `faults`."""

    def __init__(self, zone: str, scope: Scope, *, is_dotless: bool = False) -> None:
        super().__init__(zone, is_dotless=is_dotless)
        self.scope = scope
        self.chain = SourceChain()
        self.least_ttls: dict[bytes, int] = {}  # of RRSIGs, except over NSEC3PARAM, which often have TTL 0
        self.sheets: list[Sheet] = []
        self.faults: list[SourceFault] = []
        self.errors = 0
        self.left_out: dict[int, tuple[int, int]] = {}  # DNSSEC's own types and LUA: (count, first place)
        self.outside: list[int] = []  # places of records outside the zone
        self.failed: set[int] = set()  # types of records that could not be read

    # Faults

    def report(self, place: int | None, fault: Unreadable, severity: Severity = Severity.ERROR) -> None:
        """Store a fault at `place`, or of the whole zone without a place. Raise Enough if there are too many errors.

        Drop a warning or note if there are too many of them.
        """
        if place is None:
            path = self.sheets[0].document.path
            self._keep(SourceFault(path, 0, 0, "", fault.reason, fault.code, fault.fix, severity, self.zone))
            return
        sheet, line = self.sheets[place // PLACES_OF_FILE], place % PLACES_OF_FILE + fault.line
        source = sheet.lines[line] if fault.source is None else fault.source
        mapped = sheet.document.lines
        number = (mapped[line] if line < len(mapped) else 0) if mapped is not None else line + 1
        source, fix = printable(source[:200]), printable(fault.fix)
        path = sheet.document.path
        self._keep(SourceFault(path, number, fault.column, source, fault.reason, fault.code, fix, severity, self.zone))

    def _keep(self, fault: SourceFault) -> None:
        if fault.severity is not Severity.ERROR:
            if len(self.faults) - self.errors < import_limits.MOST_FAULTS_OF_ZONE:
                self.faults.append(fault)
            return
        self.faults.append(fault)
        self.errors += 1
        if self.errors >= import_limits.MOST_FAULTS_OF_ZONE:
            raise Enough

    def warn(self, place: int | None, fault: Unreadable) -> None:
        self.report(place, fault, Severity.WARNING)

    def line_at(self, place: int) -> str:
        return self.sheets[place // PLACES_OF_FILE].lines[place % PLACES_OF_FILE]

    # Records

    def head_of(self, tokens: list[Token], line: str | None, *, blank: bool) -> Head:
        owner, at = self.owner, 0
        if not blank:
            owner, at = self.name_without_dot(tokens[0]) or self.name_of(tokens[0], line), 1
            self.owner = owner
        elif not owner:
            reason = gettext("this line needs a name because there is none above: use @ for the zone apex")
            raise Unreadable(reason, "owner-missing", fix="" if line is None else "@" + line)
        elif not owner.endswith("."):
            owner = self.owner = names.parse(owner, self.origin)
        ttl: int | None = None
        ttl_token: Token | None = None
        in_class = False
        while at < len(tokens):
            token = tokens[at]
            word = token.text.upper()
            at += 1
            if ttl is None and not token.quoted and (ttl := seconds(word)) is not None:
                ttl_token = token
            elif not in_class and word in _IN:
                in_class = True
            elif (fault := not_records.fault_of_line(tokens, at - 1, line, self.scope.unanswered)) is not None:
                raise fault
            elif word in _CLASSES or (word.startswith("CLASS") and word[5:].isdigit() and word not in _IN):
                raise Unreadable(
                    gettext("the class {text} isn’t supported, only IN").format(text=token.text),
                    "class",
                    token.column,
                    token.line,
                )
            else:
                number = self._type_number(tokens, at - 1, line, blank=blank)
                return Head(owner, self.in_range(ttl, ttl_token, line), number, at)
        raise missing_type(tokens, line)

    def _type_number(self, tokens: list[Token], at: int, line: str | None, *, blank: bool) -> int:
        """Return the record type in the token at `at`. Raise Unreadable if a zone cannot have this type."""
        token = tokens[at]
        try:
            number = rdata.type_from_text(token.text)
        except BadRdata as exc:
            unanswered = self.scope.unanswered
            raise unknown_type(tokens, at, line, blank=blank, origin=self.origin, unanswered=unanswered) from exc
        if number not in _SIGNED and (refusal := rdtypes.refusal(number)):
            raise Unreadable(refusal, "type-refused", token.column, token.line)
        return number

    def name_of(self, token: Token, line: str | None) -> str:
        if token.quoted:
            fix = replace_token(line, token, token.text)
            raise Unreadable(gettext("a name must not be in quotes"), "quote", token.column, token.line, fix=fix)
        try:
            return names.parse(token.text, self.origin)
        except BadName as exc:
            raise bad_owner(token, exc, line) from exc

    def name_without_dot(self, token: Token) -> str:
        """Return the token as an absolute name if the file omits trailing dots and the name is in the zone, else ""."""
        if not self.is_dotless or token.quoted or token.text == "@" or token.text.endswith("."):
            return ""
        return self.absolute_within(token.text)

    def absolute_within(self, word: str) -> str:
        """Return the token as an absolute name, or "" if that name is invalid or outside the zone."""
        try:
            name = names.parse(word + ".")
        except BadName:
            return ""
        return name if names.is_within(name, self.zone) else ""

    def in_range(self, ttl: int | None, token: Token | None, line: str | None) -> int | None:
        if token is None or ttl is None or ttl <= MAX_TTL:
            return ttl
        reason = gettext("the TTL {text} must be 0 to {max_ttl} seconds").format(text=token.text, max_ttl=MAX_TTL)
        raise Unreadable(reason, "ttl-range", token.column, token.line, fix=replace_token(line, token, "86400"))

    def read_record(self, place: int, head: Head, entry: Entry, line: str | None, *, disabled: bool) -> None:
        tokens = entry.tokens
        if head.ttl is not None:
            self.last_ttl = head.ttl
        if not names.is_within(head.owner, self.zone):
            self.outside.append(place)
            return
        if self.scope.signatures and self._is_of_chain(head, tokens):
            return
        if self._is_left_out(head):
            count, first = self.left_out.get(head.type, (0, place))
            self.left_out[head.type] = count + 1, first
            return
        text, wire = self._rdata(place, head, tokens, line)
        ttl = head.ttl if head.ttl is not None else self._ttl(place, head, text)
        key = relative_key(head.owner, self.zone)
        rrset = ReadyRRset(head.owner, key, head.type, ttl, (text,), (wire,))
        record = self.content.add(rrset, place, disabled=disabled)
        if head.type == rdtypes.RRSIG and not text.startswith("NSEC3PARAM "):
            self.least_ttls[record] = min(ttl, self.least_ttls.get(record, ttl))
        if entry.comment and self.scope.comments and not (entry.lines > 1 and head.type == rdtypes.SOA):
            self.content.comment(record, entry.comment)
        if ttl < LOW_TTL:
            self.content.low_ttls.add(record)
        self._note_doubts(record, head, text, disabled=disabled)

    def _note_doubts(self, record: bytes, head: Head, text: str, *, disabled: bool) -> None:
        """Mark the record's RRset if the rules must check it after the whole zone is read, and store its targets."""
        is_special = head.type in _SPECIAL or kind_of(head.type, text) is not None
        if is_special or disabled or "\\@" in text or "\\@" in head.owner:
            self.content.special.add(record)
        if head.type == rdtypes.CAA and fault_of_caa(text):
            self.content.has_doubtful_caa = True
        if not disabled:
            for target in rdata.targets(head.type, text):
                if names.is_within(target, self.zone) and target != names.ROOT:
                    known = self.content.hosts if head.type in _HOSTS else self.content.aliases
                    known.add(relative_key(target, self.zone))

    def _is_left_out(self, head: Head) -> bool:
        if head.type == rdtypes.LUA:
            return not self.scope.allow_lua
        if self.scope.signatures and (head.type == rdtypes.RRSIG or head.type in _SIGNED_AT_APEX):
            return False
        return is_of_signers(head.type, head.owner, self.zone)

    def _is_of_chain(self, head: Head, tokens: list[Token]) -> bool:
        """Return True for NSEC, NSEC3 and NSEC3PARAM, and store the record for the comparison with PowerDNS's chain."""
        if head.type not in (rdtypes.NSEC, rdtypes.NSEC3, rdtypes.NSEC3PARAM):
            return False
        words = [token.text for token in tokens[head.at :]]
        if words[:1] == ["\\#"]:
            words = _from_generic(head.type, words[2:])
        self.chain.add(self.zone, head.owner, head.type, words, self.origin)
        return True

    def _rdata(self, place: int, head: Head, tokens: list[Token], line: str | None) -> tuple[str, bytes]:
        values = tokens[head.at :]
        mnemonic = tokens[head.at - 1]
        if not values:
            reason = gettext("the {type} record has no value").format(type=rdata.type_to_text(head.type))
            raise Unreadable(reason, "rdata-missing", mnemonic.end, mnemonic.line)
        if head.type in _TEXTS and values[0].text != "\\#":
            text = " ".join([f'"{token.text}"' for token in values])
            if advice := unquoted_text(tokens, head.at, line):
                self.warn(place, advice)
        else:
            text = join_tokens(values)
        try:
            quoted = next((token for token in values if token.quoted), None)
            if quoted is not None and head.type in _UNQUOTED:
                raise BadRdata(
                    type=head.type,
                    text=text,
                    reason=gettext("“{text}” must not be in quotes here").format(text=quoted.text),
                )
            if head.type == rdtypes.RRSIG:
                canonical = rdata.parse_signature(text, self.origin)
            else:
                canonical = rdata.parse(head.type, text, self.origin)
            return canonical, rdata.to_wire(head.type, canonical)
        except (BadRdata, BadName) as exc:
            self.failed.add(head.type)
            raise bad_rdata(head.type, tokens, head.at, self.origin, line, exc) from exc

    def _ttl(self, place: int, head: Head, text: str) -> int:
        """Return the TTL for a record without one: $TTL (RFC 2308 4) or the previous record's (RFC 1035 5.1).

        If both are missing, warn and use an SOA's minimum, also for the records below it. Raise Unreadable if the
        record isn't an SOA.
        """
        if self.default_ttl is not None:
            return self.default_ttl
        if self.last_ttl is not None:
            return self.last_ttl
        if head.type != rdtypes.SOA:
            reason = gettext("no TTL: add a TTL to this line, or a $TTL above")
            fix = "$TTL 3600\n" + self.line_at(place)
            raise Unreadable(reason, "ttl-missing", fix=fix)
        self.default_ttl = int(text.rpartition(" ")[2])
        reason = gettext("no TTL on this line and no $TTL above: the SOA minimum {default_ttl} is used").format(
            default_ttl=self.default_ttl
        )
        self.warn(place, Unreadable(reason, "ttl-missing", fix=f"$TTL {self.default_ttl}\n" + self.line_at(place)))
        return self.default_ttl


def is_of_signers(type: int, owner: str, zone: str) -> bool:
    """Return True for RRsets that only signers create, or that nodes compute from a zone's keys."""
    return type in _SIGNED or (type in _SIGNED_AT_APEX and owner == zone)


def _from_generic(type: int, digits: Sequence[str]) -> list[str]:
    """Convert rdata in generic form (RFC 3597) to fields. Invalid rdata, which is left out anyway, has no fields."""
    try:
        return rdata.from_wire(type, bytes.fromhex("".join(digits))).split()
    except (ValueError, BadRdata):
        return []
