"""Parse RRsets and changes in a request's body. Errors have a pointer to each invalid value.

The parser doesn't use serializers. A bulk change has thousands of RRsets, and parsing an RRset with a serializer takes
longer than publishing it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dnspanel.api.v2.http import fault_texts
from dnspanel.api.v2.http.problems import Problem, RequestFault, bad_value, invalid
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.zone_serializers import MOST_CHANGES, MOST_RDATA, MOST_REASON
from dnspanel.api.zone_syntax import REFUSAL, has_zone_file_syntax
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.values.absolute_values import RELATIVE, has_relative_name, parse_absolute
from dnspanel.zones.values.rrset_notes import notes_of, rrset_tags
from dnspanel.zones.values.soa import DEFAULT_TTL
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import MAX_TTL, Key, Notes, RRset, make
from replication.errors import BadName, BadRdata, BadRRset, NameOutside, ReplicationError

_OPS = ("replace", "delete", "extend", "prune")
_TEXTS = frozenset({rdtypes.TXT, rdtypes.SPF})
_CONTENT = frozenset({"ttl", "rdata", "disabled", "comment", "tags", "value_comments"})
_ORDER = _CONTENT | {"op", "name", "type"}


@dataclass(frozen=True, slots=True)
class Order:
    """A change to one RRset, with a pointer to its position in the body."""

    key: Key
    step: zone_patches.Step
    pointer: str


# A body of 12 MiB can have millions of errors. A client with this many errors doesn't need the rest.
MOST_FAULTS = 1_000


class Faults(list[RequestFault]):
    """The errors found so far in a request's body."""

    def at(self, pointer: str, detail: str, code: str = "invalid") -> None:
        """Add an error. Raise a Problem with all errors as soon as there are MOST_FAULTS."""
        self.append(RequestFault(code, detail, pointer=pointer))
        if len(self) >= MOST_FAULTS:
            self.refuse()

    def wrong(self, pointer: str, value: Any, needed: str) -> None:
        """Add an error about a missing value (None) or a value of the wrong type."""
        code = "required" if value is None else "invalid"
        self.at(pointer, fault_texts.must_be(pointer, needed, missing=value is None), code)

    def wrong_list(self, pointer: str, value: Any, things: str, least: int, most: int) -> None:
        """Add an error about a missing list, a value that isn't a list, or a list with too few or too many members."""
        if isinstance(value, list):
            text = fault_texts.must_be(pointer, f"{fault_texts.list_of(things, least, most)}, not of {len(value):,}")
            self.at(pointer, text, "too-few" if len(value) < least else "too-many")
        else:
            self.wrong(pointer, value, fault_texts.list_of(things, least, most))

    def unknown(self, pointer: str, value: Mapping[str, Any], allowed: Collection[str]) -> None:
        """Add an error for each unknown member of an object."""
        for name in value:
            if name not in allowed:
                self.at(f"{pointer}/{escape_pointer(name)}", fault_texts.unknown_member(name, allowed), "unknown")

    def refuse(self) -> None:
        """Raise a Problem with all errors, if there are any."""
        if self:
            raise invalid(self)


def read_orders(
    value: Any, zone_name: str, pointer: str, faults: Faults, *, most: int, default_ttl: int | None
) -> list[Order]:
    """Parse a list of changes. Return the valid changes, and add an error to `faults` for each invalid one.

    A list that is missing, empty or longer than `most`, the rest of the request's limit, is one error. `default_ttl` is
    the zone's default TTL, or None.
    """
    if not isinstance(value, list) or not value:
        faults.wrong_list(pointer, value, "changes", 1, MOST_CHANGES)
        return []
    if len(value) > most:
        text = f"At most {MOST_CHANGES:,} changes in all zones together. Send the others in another request."
        faults.at(pointer, text, "too-many")
        return []
    ttl = DEFAULT_TTL if default_ttl is None else default_ttl
    orders = (_read_order(each, zone_name, f"{pointer}/{index}", faults, ttl) for index, each in enumerate(value))
    return [order for order in orders if order is not None]


def read_rrset(value: Any, zone_name: str, pointer: str, faults: Faults, key: Key | None = None) -> RRset | None:
    """Parse an RRset from a body. If it is invalid, add an error to `faults` and return None.

    `key` is the RRset's name and type if the body doesn't contain them.
    """
    before = len(faults)
    if not _is_object(value, _CONTENT if key else _ORDER - {"op"}, pointer, faults):
        return None
    key = key or _read_key(value, zone_name, pointer, faults)
    content = _read_content(value, pointer, faults, ttl=None)
    if key is None or content is None or len(faults) > before:
        return None
    return _make(key, content, zone_name, pointer, faults)


def read_patch(value: Any, key: Key, zone_name: str) -> zone_patches.Step:
    """Return the step for a PATCH, which raises Problem if the RRset is missing. Raise Problem for an invalid body."""
    faults = Faults()
    if _is_object(value, _CONTENT | {"add", "remove"}, "", faults):
        _check_content(value, "", faults, optional={"ttl", "rdata"})
        for name in ("add", "remove"):
            _check_texts(value, name, "", faults)
            if "rdata" in value and name in value:
                text = f"Send `rdata` to replace all values, or `{name}` to change some, not both."
                faults.at(f"/{name}", text, NOT_TOGETHER)
    faults.refuse()
    tags, remarks = _tags_in(value, "", faults), _comments_in(key[1], value, "", faults)
    faults.refuse()
    parsed = {
        name: _parse_texts(key[1], value[name], zone_name, f"/{name}", faults)
        for name in ("rdata", "add", "remove")
        if name in value
    }
    faults.refuse()

    def step(now: RRset | None) -> RRset | None:
        if now is None:
            raise absent(key)
        texts: Sequence[str] = (*parsed.get("rdata", now.rdata), *parsed.get("add", ()))
        texts = rdata.not_among(key[1], texts, parsed.get("remove", ()))
        disabled = value.get("disabled", rdata.in_both(key[1], now.disabled, texts))
        if not texts:
            return None
        notes = Notes(
            now.notes.tags if tags is None else tags,
            now.notes.comments if remarks is None else Notes.create((), remarks).comments,
        )
        return make(*key, _ttl(value, now.ttl), texts, disabled, value.get("comment", now.comment), notes=notes)

    return _pointing(step, "")


def owner_of(text: str, zone_name: str) -> str:
    """Parse an owner name from a client. A name without a trailing dot is relative to the zone.

    Raise BadName if the name is invalid, is outside the zone, or seems to lack its trailing dot.
    """
    name = names.parse(text, zone_name)
    if not names.is_within(name, zone_name):
        raise NameOutside(text=text, zone_name=zone_name)
    if not text.endswith(".") and f".{text.lower()}.".endswith("." + zone_name):
        raise BadName(text=text, reason=f"it would be {name} in this zone; add a dot at the end if it is absolute")
    return name


def type_of(text: str) -> int:
    """Return the number of a record type. Raise BadRdata if zones can't contain the type."""
    type_ = rdata.type_from_text(text)
    rdata.check_type(type_)
    return type_


def _read_order(value: Any, zone_name: str, pointer: str, faults: Faults, ttl: int) -> Order | None:
    before = len(faults)
    if not _is_object(value, _ORDER, pointer, faults):
        return None
    op = value.get("op")
    if op not in _OPS:
        _refuse_op(op, pointer, faults)
    key = _read_key(value, zone_name, pointer, faults)
    if key is None or op not in _OPS:
        return None
    step = _read_step(value, key, zone_name, pointer, faults, ttl)
    return None if step is None or len(faults) > before else Order(key, _pointing(step, pointer), pointer)


def _refuse_op(op: Any, pointer: str, faults: Faults) -> None:
    if op is None:
        faults.wrong(f"{pointer}/op", None, f"one of {', '.join(_OPS)}")
    else:
        faults.at(f"{pointer}/op", fault_texts.not_a_choice(f"{pointer}/op", op, _OPS), "invalid-choice")


def _read_step(
    value: Mapping[str, Any], key: Key, zone_name: str, pointer: str, faults: Faults, ttl: int
) -> zone_patches.Step | None:
    op = value["op"]
    if op == "delete":
        for name in sorted(_CONTENT & value.keys()):
            faults.at(f"{pointer}/{name}", f"`delete` takes no `{name}`: leave it out.", NOT_TOGETHER)
        return None if _CONTENT & value.keys() else zone_patches.remove_rrset
    if op == "prune":
        for name in sorted((_CONTENT - {"rdata"}) & value.keys()):
            faults.at(f"{pointer}/{name}", f"`prune` takes no `{name}`, only the `rdata` to remove.", NOT_TOGETHER)
        if not _check_texts(value, "rdata", pointer, faults, required=True):
            return None
        return zone_patches.without(_parse_texts(key[1], value["rdata"], zone_name, f"{pointer}/rdata", faults))
    content = _read_content(value, pointer, faults, ttl=ttl if op == "extend" else None)
    rrset = None if content is None else _make(key, content, zone_name, pointer, faults)
    if rrset is None:
        return None
    return zone_patches.add_records(rrset) if op == "extend" else zone_patches.replace_with(rrset)


def _read_key(value: Mapping[str, Any], zone_name: str, pointer: str, faults: Faults) -> Key | None:
    name, type_ = value.get("name"), value.get("type")
    owner = number = None
    try:
        owner = owner_of(name, zone_name) if isinstance(name, str) else None
        if owner is None:
            faults.wrong(f"{pointer}/name", name, "an owner name, such as www or @ for the zone itself")
    except BadName as exc:
        faults.at(f"{pointer}/name", str(exc), "bad-name")
    try:
        number = type_of(type_) if isinstance(type_, str) else None
        if number is None:
            faults.wrong(f"{pointer}/type", type_, "a record type such as AAAA")
    except BadRdata as exc:
        faults.at(f"{pointer}/type", str(exc), "bad-type")
    return None if owner is None or number is None else (owner, number)


Content = tuple[int, Sequence[str], Sequence[str], str, Mapping[str, Any]]  # TTL, rdata, disabled, comment, the object


def _read_content(value: Mapping[str, Any], pointer: str, faults: Faults, *, ttl: int | None) -> Content | None:
    """Return the TTL (default: `ttl`), rdata, disabled values, comment and `value`, or None if one is invalid."""
    if not _check_content(value, pointer, faults, optional=() if ttl is None else {"ttl"}):
        return None
    found = ttl if ttl is not None and "ttl" not in value else int(value["ttl"])
    return found, value["rdata"], value.get("disabled", ()), value.get("comment", ""), value


def _check_content(value: Mapping[str, Any], pointer: str, faults: Faults, *, optional: Any) -> bool:
    before = len(faults)
    if "ttl" in value or "ttl" not in optional:
        _check_ttl(value, pointer, faults)
    if "rdata" in value or "rdata" not in optional:
        _check_texts(value, "rdata", pointer, faults, required=True)
    _check_texts(value, "disabled", pointer, faults)
    comment = value.get("comment", "")
    if not isinstance(comment, str) or len(comment) > MOST_REASON:
        faults.at(f"{pointer}/comment", f"`comment` must be a string of at most {MOST_REASON:,} characters.")
    return len(faults) == before


def _tags_in(value: Mapping[str, Any], pointer: str, faults: Faults) -> tuple[str, ...] | None:
    """Return an object's tags, or None if they are missing or invalid. Add an error to `faults` if they are invalid."""
    if "tags" not in value:
        return None
    if not _check_texts(value, "tags", pointer, faults):
        return None
    try:
        return rrset_tags(value["tags"])
    except ValueError as exc:
        faults.at(f"{pointer}/tags", f"{exc}.")
    return None


def _comments_in(type_: int, value: Mapping[str, Any], pointer: str, faults: Faults) -> Mapping[str, str] | None:
    """Return comments keyed by canonical rdata, or None if missing or invalid. Add an error to `faults` if invalid."""
    if "value_comments" not in value:
        return None
    remarks = value["value_comments"]
    if not isinstance(remarks, dict) or not all(isinstance(text, str) for text in remarks.values()):
        faults.at(f"{pointer}/value_comments", "`value_comments` must map rdata to strings.")
        return None
    try:
        return dict(notes_of(type_, (), remarks).comments)
    except (ValueError, ReplicationError) as exc:
        faults.at(f"{pointer}/value_comments", f"{exc}.".replace("..", "."))
    return None


def _check_ttl(value: Mapping[str, Any], pointer: str, faults: Faults) -> None:
    ttl = value.get("ttl")
    is_integer = type(ttl) is int or (type(ttl) is float and ttl.is_integer())  # JSON has only one number type
    if not is_integer or not 0 <= ttl <= MAX_TTL:  # type: ignore[operator]
        faults.wrong(f"{pointer}/ttl", ttl, f"a whole number of seconds from 0 to {MAX_TTL}")


def _ttl(value: Mapping[str, Any], otherwise: int) -> int:
    return int(value["ttl"]) if "ttl" in value else otherwise


def _check_texts(value: Mapping[str, Any], name: str, pointer: str, faults: Faults, *, required: bool = False) -> bool:
    texts = value.get(name, None if required else [])
    if not isinstance(texts, list) or (required and not texts) or len(texts) > MOST_RDATA:
        faults.wrong_list(f"{pointer}/{name}", texts, "strings", int(required), MOST_RDATA)
        return False
    wrong = [index for index, text in enumerate(texts) if not isinstance(text, str)]
    for index in wrong:
        faults.at(f"{pointer}/{name}/{index}", f"`{name}/{index}` must be a string.")
    return not wrong


def _is_object(value: Any, members: frozenset[str], pointer: str, faults: Faults) -> bool:
    """Return True if the value is an object, or else add an error. Also add an error for each unknown field."""
    if not isinstance(value, dict):
        needed = f"an object with the members {fault_texts.join_limited(sorted(members))}"
        faults.at(pointer, fault_texts.must_be(pointer, needed))
        return False
    faults.unknown(pointer, value, members)
    return True


def escape_pointer(name: str) -> str:
    """Escape a member's name for a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _make(key: Key, content: Content, zone_name: str, pointer: str, faults: Faults) -> RRset | None:
    """Create an RRset. If the RRset is invalid, add an error with a pointer and return None."""
    ttl, texts, disabled, comment, value = content
    before = len(faults)
    notes = Notes.create(_tags_in(value, pointer, faults) or (), _comments_in(key[1], value, pointer, faults))
    if len(faults) > before:
        return None
    if any(_would_be_cut(key[1], text) for text in (*texts, *disabled)):
        _parse_texts(key[1], texts, zone_name, f"{pointer}/rdata", faults)
        _parse_texts(key[1], disabled, zone_name, f"{pointer}/disabled", faults)
        return None
    try:
        found = make(*key, ttl, texts, disabled, comment, RELATIVE, notes=notes)
    except (BadName, BadRdata):
        _parse_texts(key[1], texts, zone_name, f"{pointer}/rdata", faults)
        _parse_texts(key[1], disabled, zone_name, f"{pointer}/disabled", faults)
        if len(faults) == before:
            raise
    except BadRRset as exc:
        faults.at(f"{pointer}/rdata", f"{exc}.", "bad-rrset")
    else:
        if has_relative_name(key[1], found.rdata):
            _parse_texts(key[1], texts, zone_name, f"{pointer}/rdata", faults)
            return None
        if len(found.notes.comments) == len(notes.comments):
            return found
        faults.at(f"{pointer}/value_comments", "`value_comments` has a comment on a value that is not in `rdata`.")
    return None


def _parse_texts(type_: int, texts: Sequence[str], zone_name: str, pointer: str, faults: Faults) -> tuple[str, ...]:
    """Return the texts as canonical rdata. Add an error for each text that isn't rdata of the type."""
    found = []
    for index, text in enumerate(texts):
        if _would_be_cut(type_, text):
            faults.at(f"{pointer}/{index}", f"{REFUSAL}.", "bad-rdata")
            continue
        try:
            found.append(parse_absolute(type_, text, zone_name))
        except (BadName, BadRdata) as exc:
            faults.at(f"{pointer}/{index}", str(exc), "bad-rdata")
    return tuple(found)


def _would_be_cut(type_: int, text: str) -> bool:
    """Return True if parsing would drop part of the text as a comment, which can't happen to an unquoted TXT or SPF."""
    is_one_text = type_ in _TEXTS and not text.lstrip().startswith('"')
    return not is_one_text and has_zone_file_syntax(text)


def _pointing(step: zone_patches.Step, pointer: str) -> zone_patches.Step:
    """Wrap a step so that errors about the current RRset become a Problem with this pointer."""

    def pointing(now: RRset | None) -> RRset | None:
        try:
            return step(now)
        except ReplicationError as exc:
            raise bad_value(pointer, f"{exc}.", "bad-rrset") from exc

    return pointing


def absent(key: Key) -> Problem:
    """Return the problem for an RRset that doesn't exist."""
    return Problem("not-found", f"There is no {rdata.type_to_text(key[1])} RRset at {key[0]}.")
