"""The fast path of the zone-file parser: plain lines of the common types, a few microseconds each.

A line is plain if it is `[owner] [ttl] [IN] TYPE rdata` in printable ASCII,
without parentheses, escapes and comments. Every other line, faults
included, is left to `Reader.read_slowly`; a test holds that both paths say
the same.

What repeats is computed once per process: owner labels, TTLs, rdata. The
tables are dicts that fill themselves by `__missing__` and are emptied when
they grow too large.
"""

import re
import socket
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from dnspanel.transfer.documents import ReadyRRset
from dnspanel.transfer.zonefile.content import APEX, Content, type_tail
from dnspanel.zones.rules import LOW_TTL
from dnspanel.zones.value_rules import fault_of_caa
from replication.dns import names, rdtypes
from replication.dns.rdata_forms import FORMS
from replication.dns.rrset import MAX_TTL

V = TypeVar("V")
Pair = tuple[str, bytes]  # rdata: canonical text, and wire form

MOST_KEPT = 20_000
# Below these, names need no look at their length.
LONGEST_ZONE, LONGEST_LABELS = 120, 120
_LONGEST_TEXT = 4_000


class Table(dict[str, V], Generic[V]):
    """A dict that makes what it lacks, and raises KeyError for words that are not plain."""

    def __init__(self, make: Callable[[str], V]) -> None:
        self._make = make

    def __missing__(self, word: str) -> V:
        made = self._make(word)
        if len(self) >= MOST_KEPT:
            self.clear()
        self[word] = made
        return made


# What the apex is called relative to the zone: by people, and by the absolute name. `@.example.test.` is neither.
_APEX_WORD = " "
_APEX_NAMES = ("@", _APEX_WORD)
_LABELS = re.compile(r"(?:[a-z0-9_*-]{1,63}\.)*[a-z0-9_*-]{1,63}", re.ASCII)
_TTL = re.compile(r"(?:[0-9]{1,10}[smhdw])+|[0-9]{1,10}", re.ASCII)
_TTL_PART = re.compile(r"([0-9]+)([smhdw]?)", re.ASCII)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(word: str) -> int | None:
    """`300`, `1h30m`, `2W` in seconds; None if the word is no TTL. It may be out of range."""
    lowered = word.lower()
    if not _TTL.fullmatch(lowered):
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in _TTL_PART.findall(lowered))


def _ttl(word: str) -> int:
    ttl = seconds(word)
    if ttl is None or ttl > MAX_TTL:
        raise KeyError(word)
    return ttl


def _labels(word: str) -> tuple[str, bytes, bytes]:
    """What stands before the zone in the name; the relative key; what stands before the zone in wire form."""
    if word in _APEX_NAMES:
        return "", APEX, b""
    lowered = word.lower()
    if len(word) > LONGEST_LABELS or not _LABELS.fullmatch(lowered):
        raise KeyError(word)
    labels = lowered.encode("ascii").split(b".")
    wire = b"".join([bytes((len(label),)) + label for label in labels])
    return lowered + ".", b"\0".join(labels[::-1]) + b"\0", wire


def _labels_in_rdata(word: str) -> tuple[str, bytes, bytes]:
    """The same for a name in rdata, which keeps its capitals but in the key."""
    below, key, wire = _labels(word)
    if below in ("", word + "."):
        return below, key, wire
    labels = word.encode("ascii").split(b".")
    return word + ".", key, b"".join([bytes((len(label),)) + label for label in labels])


def _absolute(word: str) -> Pair:
    """A name with its final dot, in lower case."""
    if word == names.ROOT:
        return word, names.to_wire(word)
    if len(word) > 254 or not _LABELS.fullmatch(word[:-1]):
        raise KeyError(word)
    return word, names.to_wire(word)


def _u16(word: str) -> Pair:
    if not (word.isdigit() and len(word) <= 10 and int(word) < 1 << 16):
        raise KeyError(word)
    return str(int(word)), int(word).to_bytes(2, "big")


def _timers(fields: str) -> Pair:
    """The four times at the end of a SOA."""
    times = [_ttl(word) for word in fields.split(" ")]
    return " ".join(map(str, times)), b"".join([time.to_bytes(4, "big") for time in times])


TTLS: Table[int] = Table(_ttl)
LABELS: Table[tuple[str, bytes, bytes]] = Table(_labels)
LABELS_IN_RDATA: Table[tuple[str, bytes, bytes]] = Table(_labels_in_rdata)
ABSOLUTE: Table[Pair] = Table(_absolute)
U16: Table[Pair] = Table(_u16)
TIMERS: Table[Pair] = Table(_timers)


class FastReader:
    """Reads plain lines; knows where in the zone file it is: origin, last owner, TTLs.

    `suffix` is the origin below the zone (`.sub`), "" at the zone itself, and
    None where no name may be read quickly. `is_dotless`: names that end in the
    zone's are absolute without a final dot.
    """

    def __init__(self, zone: str, *, is_dotless: bool = False) -> None:
        self.zone = zone
        self.is_dotless = is_dotless
        # Only below zones with short names is every plain name short enough. The root has no name to end in.
        self.quick = len(zone) <= LONGEST_ZONE and zone != names.ROOT
        self.dot_zone = "." + zone if self.quick else "\0"
        self.zone_wire = names.to_wire(zone)
        self.content = Content(zone)
        self.origin = zone
        self.suffix: str | None = "" if self.quick and not is_dotless else None
        self.owner = ""  # the last one, as written or absolute; "" before the first
        self.default_ttl: int | None = None
        self.last_ttl: int | None = None

    def read_slowly(self, place: int, line: str) -> int:
        """Read the entry that begins here; return how many more lines it takes."""
        raise NotImplementedError

    def read(self, lines: Iterator[tuple[int, str]], *, comment: str = "", checked: bool = True) -> None:
        """Read numbered lines. `checked` says that all of them are printable ASCII and tabs.

        The one loop where each bytecode counts: it runs once per record.
        """
        low_ttls = self.content.low_ttls
        ttl: int | None
        stated: int | None
        sets, places, again = self.content.sets, self.content.places, self.content.add_to
        zone, dot_zone, cut = self.zone, self.dot_zone, -len(self.dot_zone)
        kinds, ttls, labels, new = KINDS, TTLS, LABELS, tuple.__new__
        suffix, last_owner, default_ttl, last_ttl = self.suffix, self.owner, self.default_ttl, self.last_ttl
        for place, line in lines:
            fields = line.split(None, 4)
            try:
                if len(fields) == 5 and fields[2] == "IN" and line[0] > " ":
                    owner, ttl_word, _, mnemonic, value = fields
                    ttl = ttls[ttl_word]
                    stated = ttl
                elif not fields:
                    continue
                elif (
                    default_ttl is not None
                    and len(fields) > 3
                    and fields[1] == "IN"
                    and fields[2] in kinds
                    and line[0] > " "
                ):
                    owner, _, mnemonic, value = line.split(None, 3)
                    ttl, stated = default_ttl, last_ttl
                elif (
                    default_ttl is not None
                    and len(fields) > 2
                    and fields[0] == "IN"
                    and fields[1] in kinds
                    and line[0] <= " "
                ):
                    _, mnemonic, value = line.split(None, 2)
                    owner, ttl, stated = last_owner, default_ttl, last_ttl
                    if not owner:
                        raise KeyError(line)
                elif line[0] == "$" and self._read_plain_directive(fields, last_owner):
                    suffix, last_owner, default_ttl = self.suffix, self.owner, self.default_ttl
                    continue
                else:
                    owner, ttl_word, mnemonic, value = _head(line)
                    owner = owner or last_owner
                    stated = ttls[ttl_word] if ttl_word else last_ttl
                    ttl = stated if ttl_word or default_ttl is None else default_ttl
                    if ttl is None or not owner:
                        raise KeyError(line)
                if not checked and not _PRINTABLE.fullmatch(line):
                    raise KeyError(line)
                type_, tail, cache, convert = kinds[mnemonic]
                if owner[-1] == ".":
                    word = owner[:cut] if owner.endswith(dot_zone) else self._apex_or_not(owner)
                    if word == "@":
                        raise KeyError(line)
                elif suffix == "":
                    word = owner
                else:
                    word = self._below_origin(owner)
                below, key, _ = labels[word]
                text, wire = cache.get(value) or convert(self, value)
                record = key + tail
                if record in sets:
                    again(record, ttl, text, wire, place)
                else:
                    sets[record] = new(ReadyRRset, (below + zone, key, type_, ttl, (text,), (wire,), (), "", ""))
                    places[record] = place
                    if ttl < LOW_TTL:
                        low_ttls.add(record)
                last_owner = owner
                last_ttl = stated
                if comment:
                    self.content.comment(record, comment)
            except KeyError:
                self.owner, self.last_ttl = last_owner, last_ttl
                more = self.read_slowly(place, line)
                if more:
                    next(islice(lines, more - 1, None), None)
                suffix, last_owner = self.suffix, self.owner
                default_ttl, last_ttl = self.default_ttl, self.last_ttl
        self.owner, self.last_ttl = last_owner, last_ttl

    def _read_plain_directive(self, fields: list[str], last_owner: str) -> bool:
        """Read a `$TTL` or `$ORIGIN` as nearly every zone begins with; False if it is another line."""
        if len(fields) != 2:
            return False
        self.owner = last_owner
        if fields[0] == "$TTL":
            self.default_ttl = TTLS[fields[1]]
        elif fields[0] == "$ORIGIN" and fields[1] == self.zone:
            self.set_origin(fields[1])
        else:
            return False
        return True

    def set_origin(self, origin: str) -> None:
        """Relative names are below `origin` from here on. The last owner stays the name that it is."""
        if origin == self.origin:
            return
        if self.owner and not self.owner.endswith("."):
            self.owner = names.parse(self.owner, self.origin)
        self.origin = origin
        self.suffix = None
        if self.quick and not self.is_dotless and "\\" not in origin and names.is_within(origin, self.zone):
            self.suffix = "" if origin == self.zone else "." + origin[: -len(self.dot_zone)]

    def _apex_or_not(self, owner: str) -> str:
        if owner == self.zone:
            return _APEX_WORD
        raise KeyError(owner)

    def _below_origin(self, word: str) -> str:
        """A relative word, relative to the zone instead of to the origin."""
        if not self.suffix:
            raise KeyError(word)
        return self.suffix[1:] if word == "@" else word + self.suffix

    def name_at(self, word: str) -> tuple[str, bytes, bytes]:
        """A name in rdata, its wire form, and its relative key or b"" if it is not inside the zone."""
        try:
            if word[-1] != ".":
                relative = word if self.suffix == "" else self._below_origin(word)
            elif word.endswith(self.dot_zone):
                relative = word[: -len(self.dot_zone)]
                if relative == "@":
                    raise KeyError(word)
            elif word == self.zone:
                relative = _APEX_WORD
            else:
                text, wire = ABSOLUTE[word]
                return text, wire, b""
            below, key, wire = LABELS_IN_RDATA[relative]
        except KeyError:
            lowered = word.lower()
            if lowered == word:
                raise
            text, _, key = self.name_at(lowered)
            # Names in rdata keep their capitals, and the text begins with the word in lower case.
            spelled = word + text[len(word) :]
            return spelled, names.to_wire(spelled), key
        return below + self.zone, wire + self.zone_wire, key


def _head(line: str) -> tuple[str, str, str, str]:
    """Owner or "", TTL or "", type and rdata of a plain line in any order that is allowed."""
    match = _HEAD.fullmatch(line)
    if match is None:
        raise KeyError(line)
    owner, before, after, mnemonic, value = match.groups()
    if before and after:
        raise KeyError(line)
    return owner, before or after or "", mnemonic, value


_HEAD = re.compile(
    r"""([^\s;()"\\]*)[ \t]+(?:([0-9]\w*)[ \t]+)?(?:(?:IN|in)[ \t]+)?(?:([0-9]\w*)[ \t]+)?([A-Z]+|[a-z]+)[ \t]+(\S.*)"""
)
_PRINTABLE = re.compile(r"[\t -~]*")


# Rdata. Each conversion returns the canonical text and the wire form, or raises KeyError.


def _keep(cache: dict[str, Pair], value: str, pair: Pair) -> Pair:
    if len(cache) >= MOST_KEPT:
        cache.clear()
    cache[value] = pair
    return pair


def _a(reader: FastReader, value: str) -> Pair:
    return _address(_A, socket.AF_INET, value)


def _aaaa(reader: FastReader, value: str) -> Pair:
    return _address(_AAAA, socket.AF_INET6, value)


def _address(cache: dict[str, Pair], family: socket.AddressFamily, value: str) -> Pair:
    try:
        wire = socket.inet_pton(family, value.rstrip())
    except OSError:
        raise KeyError(value) from None
    return _keep(cache, value, (socket.inet_ntop(family, wire), wire))


def _host(reader: FastReader, value: str) -> Pair:
    """NS."""
    text, wire, key = reader.name_at(value.rstrip())
    if key:
        reader.content.hosts.add(key)
        return text, wire
    return _keep(_NAMES, value, (text, wire))


def _target(reader: FastReader, value: str) -> Pair:
    """CNAME and PTR."""
    text, wire, key = reader.name_at(value.rstrip())
    if key:
        reader.content.aliases.add(key)
        return text, wire
    return _keep(_NAMES, value, (text, wire))


def _mx(reader: FastReader, value: str) -> Pair:
    fields = value.split()
    if len(fields) != 2:
        raise KeyError(value)
    preference, head = U16[fields[0]]
    text, wire, key = reader.name_at(fields[1])
    pair = f"{preference} {text}", head + wire
    if key:
        reader.content.hosts.add(key)
        return pair
    return _keep(_MX, value, pair)


def _srv(reader: FastReader, value: str) -> Pair:
    fields = value.split()
    if len(fields) != 4:
        raise KeyError(value)
    (priority, one), (weight, two), (port, three) = U16[fields[0]], U16[fields[1]], U16[fields[2]]
    text, wire, key = reader.name_at(fields[3])
    pair = f"{priority} {weight} {port} {text}", one + two + three + wire
    if key:
        reader.content.hosts.add(key)
        return pair
    return _keep(_SRV, value, pair)


def _soa(reader: FastReader, value: str) -> Pair:
    fields = value.split()
    if len(fields) != 7:
        raise KeyError(value)
    primary, one, _ = reader.name_at(fields[0])
    mailbox, two, _ = reader.name_at(fields[1])
    number = fields[2]
    if not (number.isdigit() and len(number) <= 10 and int(number) < 1 << 32):
        raise KeyError(value)
    serial = int(number)
    times, wire = TIMERS[" ".join(fields[3:])]
    return f"{primary} {mailbox} {serial} {times}", one + two + serial.to_bytes(4, "big") + wire


_STRING = re.compile(r'"[ !#-\[\]-~]{0,255}"')
_STRINGS = re.compile(r'(?:"(?:[ !#-\[\]-~]|\\[ -~]){0,255}"(?:[ \t]+|$))+')
_WORD = re.compile(r"[!#-'*-:<-\[\]-~]{1,255}")


def _txt(reader: FastReader, value: str) -> Pair:
    if _STRING.fullmatch(value):
        return _keep(_TXT, value, (value, (chr(len(value) - 2) + value[1:-1]).encode("latin-1")))
    value = value.rstrip()
    if len(value) <= _LONGEST_TEXT and _STRINGS.fullmatch(value):
        try:
            wire = FORMS[rdtypes.TXT].encode(value, None)
        except ValueError:
            raise KeyError(value) from None
        return _keep(_TXT, value, (FORMS[rdtypes.TXT].decode(wire), wire))
    # Text that begins with a tag is better in quotes: the slow path says so.
    if _WORD.fullmatch(value) and value[:2].lower() != "v=" and value != "\\#":
        return f'"{value}"', (chr(len(value)) + value).encode("latin-1")
    raise KeyError(value)


_CAA_VALUE = re.compile(r'([0-9]{1,3})[ \t]+([a-z0-9]{1,15})[ \t]+"([ !#-\[\]-~]*)"[ \t]*')


def _caa(reader: FastReader, value: str) -> Pair:
    match = _CAA_VALUE.fullmatch(value)
    if match is None or int(match[1]) > 255 or not match[3]:  # nor an empty value, which not every release reads
        raise KeyError(value)
    flags, tag, text = int(match[1]), match[2], match[3]
    wire = bytes((flags, len(tag))) + (tag + text).encode("ascii")
    canonical = f'{flags} {tag} "{text}"'
    if fault_of_caa(canonical):
        reader.content.has_doubtful_caa = True
        return canonical, wire
    return _keep(_CAA, value, (canonical, wire))


_DIGEST = re.compile(r"([0-9]{1,5})[ \t]+([0-9]{1,3})(?:[ \t]+([0-9]{1,3}))?[ \t]+((?:[0-9A-Fa-f]{2}){1,64})[ \t]*")
# Lengths by digest or matching type, as dnspython has them; what is not here is left to it.
_DS_SIZES = {1: 20, 2: 32, 4: 48}
_SSHFP_SIZES = {1: 20, 2: 32}
_TLSA_SIZES = {1: 32, 2: 64}


def _digest(value: str, fields: int) -> tuple[list[int], bytes]:
    """The numbers in front of a digest, and the digest."""
    match = _DIGEST.fullmatch(value)
    numbers = [int(number) for number in match.groups()[:3] if number] if match else []
    if match is None or len(numbers) != fields or max(numbers[1:]) > 255:
        raise KeyError(value)
    return numbers, bytes.fromhex(match[4])


def _ds(reader: FastReader, value: str) -> Pair:
    (tag, algorithm, kind), digest = _digest(value, 3)
    if tag > 65535 or _DS_SIZES.get(kind) != len(digest):
        raise KeyError(value)
    return f"{tag} {algorithm} {kind} {digest.hex()}", tag.to_bytes(2, "big") + bytes((algorithm, kind)) + digest


def _tlsa(reader: FastReader, value: str) -> Pair:
    (usage, selector, matching), digest = _digest(value, 3)
    if usage > 255 or _TLSA_SIZES.get(matching) != len(digest):
        raise KeyError(value)
    return f"{usage} {selector} {matching} {digest.hex()}", bytes((usage, selector, matching)) + digest


def _sshfp(reader: FastReader, value: str) -> Pair:
    (algorithm, kind), digest = _digest(value, 2)
    if algorithm > 255 or _SSHFP_SIZES.get(kind) != len(digest):
        raise KeyError(value)
    return f"{algorithm} {kind} {digest.hex()}", bytes((algorithm, kind)) + digest


Convert = Callable[[FastReader, str], Pair]
_A: dict[str, Pair] = {}
_AAAA: dict[str, Pair] = {}
_NAMES: dict[str, Pair] = {}
_MX: dict[str, Pair] = {}
_SRV: dict[str, Pair] = {}
_SOA: dict[str, Pair] = {}
_TXT: dict[str, Pair] = {}
_CAA: dict[str, Pair] = {}

_CONVERSIONS: dict[str, tuple[int, dict[str, Pair], Convert]] = {
    "A": (rdtypes.A, _A, _a),
    "NS": (rdtypes.NS, _NAMES, _host),
    "CNAME": (rdtypes.CNAME, _NAMES, _target),
    "SOA": (rdtypes.SOA, _SOA, _soa),
    "PTR": (rdtypes.PTR, _NAMES, _target),
    "MX": (rdtypes.MX, _MX, _mx),
    "TXT": (rdtypes.TXT, _TXT, _txt),
    "AAAA": (rdtypes.AAAA, _AAAA, _aaaa),
    "SRV": (rdtypes.SRV, _SRV, _srv),
    "CAA": (rdtypes.CAA, _CAA, _caa),
    "DS": (rdtypes.DS, {}, _ds),
    "TLSA": (rdtypes.TLSA, {}, _tlsa),
    "SSHFP": (rdtypes.SSHFP, {}, _sshfp),
}
# Type, end of the record key, what is known already, and how to convert the rest.
KINDS = {
    word: (type_, type_tail(type_), cache, convert)
    for mnemonic, (type_, cache, convert) in _CONVERSIONS.items()
    for word in (mnemonic, mnemonic.lower())
}
