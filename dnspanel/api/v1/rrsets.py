"""Parse RRsets from clients' JSON, and write them in PowerDNS's JSON form."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1.attributes import Comment, comment_text, comments_in_full
from dnspanel.api.v1.content import content_for_client, read_content
from dnspanel.api.v1.view import Refusal, canonical, list_in, shorten_text, text_in
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import MAX_TTL, NO_NOTES, Notes, RRset, make, parse_notes
from replication.errors import BadName, BadRdata, BadRRset

StoredRow = tuple[str, int, int, list[str], list[str], str, str]  # name, type, TTL, rdata, disabled, comment, notes

MOST_COMMENT = 2000
MOST_RECORDS = 5_000  # per RRset. At most 4,095 addresses fit into an RRset.
_LATEST = 2**32 - 1
_SURELY_FITS = 10_000  # A record with fewer characters fits into a DNS message, regardless of its name.
_ALLOWED = re.compile(r"[A-Za-z0-9_/.*-]+", re.ASCII)
_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RRsetInput:
    """One RRset as sent by a client. A field is None if the client didn't send it."""

    name: str
    type: int
    ttl: int | None
    records: Mapping[str, bool] | None  # canonical rdata → True if disabled, in the given order
    comments: tuple[Comment, ...] | None
    spellings: Mapping[str, str] = field(default_factory=dict)  # canonical rdata → content, if they differ

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.type

    @property
    def title(self) -> str:
        """The RRset's name for error messages."""
        return title(self.name, self.type)

    def rrset(self, ttl: int, comment: str) -> RRset:
        """Return the RRset with these records. Raise Refusal (422) if they are invalid."""
        assert self.records is not None
        disabled = [text for text, is_disabled in self.records.items() if is_disabled]
        if len(self.records) == 1 and len(next(iter(self.records))) < _SURELY_FITS:
            # A single record, as in most RRsets, is already canonical and needs no sorting.
            return RRset(self.name, self.type, ttl, tuple(self.records), tuple(disabled), comment, self._notes)
        try:
            return make(self.name, self.type, ttl, self.records, disabled, comment, notes=self._notes)
        except (BadRRset, BadRdata, BadName) as exc:
            served = len(self.records) - len(disabled)
            one_only = self.type in _SINGLE and served > 1
            raise Refusal(422, f"{self.title}{' has more than one record' if one_only else f': {exc}'}") from exc

    @property
    def _notes(self) -> Notes:
        return Notes.create(spellings=self.spellings) if self.spellings else NO_NOTES


_SINGLE = frozenset((rdtypes.SOA, rdtypes.CNAME, rdtypes.DNAME))


def title(name: str, type: int) -> str:
    """Return an RRset's name as in PowerDNS's error messages."""
    return f"RRset {name} IN {rdata.type_to_text(type)}"


def read_rrset(value: Mapping[str, Any], key: tuple[str, int], zone: str, now: datetime) -> RRsetInput:
    """Parse the member of `rrsets` with this key. Raise Refusal (422) if it is invalid."""
    name, type_ = key
    refuse_odd_characters(text_in(value, "name"))
    if not names.is_within(name, zone):
        raise Refusal(422, f"{title(name, type_)}: Name is out of zone")
    spellings: dict[str, str] = {}
    records = _records(value, name, type_, spellings) if isinstance(value.get("records"), list) else None
    comments = _comments(value, now) if isinstance(value.get("comments"), list) else None
    return RRsetInput(name, type_, number_in(value, "ttl", MAX_TTL), records, comments, spellings)


def read_key(value: Mapping[str, Any]) -> tuple[str, int]:
    """Parse the owner name and type of one member of `rrsets`. Raise Refusal (422) if either is invalid."""
    name = canonical(text_in(value, "name"))
    word = text_in(value, "type")
    try:
        type_ = rdata.type_from_text(word)
    except BadRdata as exc:
        raise Refusal(422, f"RRset {name} IN {shorten_text(word)}: unknown type given") from exc
    if rdtypes.refusal(type_) is not None:
        raise Refusal(422, f"{title(name, type_)}: invalid type given: {rdtypes.refusal(type_)}")
    return name, type_


def refuse_odd_characters(name: str) -> None:
    """Raise Refusal (422) if the name contains characters that PowerDNS's API also rejects."""
    if not _ALLOWED.fullmatch(name):
        raise Refusal(422, f"Name '{shorten_text(name)}' contains unsupported characters")


def number_in(value: Mapping[str, Any], key: str, most: int) -> int | None:
    """Return an integer member, which can be in quotes, or None if it is missing. Raise Refusal (422) if invalid."""
    number = value.get(key)
    if isinstance(number, str) and _PLAIN_NUMBER.fullmatch(number):
        number = int(number)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        raise Refusal(422, f"Key '{key}' not an Integer or not present")
    if not 0 <= number <= most:
        raise Refusal(422, f"Value for key '{key}' is out of range")
    return int(number)


def _records(value: Mapping[str, Any], name: str, type_: int, spellings: dict[str, str]) -> dict[str, bool]:
    """Map each canonical record to its disabled flag. Fill `spellings`. Raise Refusal (422) if a record is invalid."""
    records: dict[str, bool] = {}
    listed = list_in(value, "records")
    if len(listed) > MOST_RECORDS:
        raise Refusal(422, f"{title(name, type_)}: At most {MOST_RECORDS} records, given {len(listed)}")
    for record in listed:
        if not isinstance(record, dict):
            raise Refusal(422, "Key 'content' not present or not a String")
        content = text_in(record, "content")
        is_disabled = record.get("disabled") or False
        if not isinstance(is_disabled, bool):
            raise Refusal(422, "Key 'disabled' not present or not a Bool")
        text = read_content(name, type_, content)
        if records and rdata.in_both(type_, [text], records):
            raise Refusal(422, f'Duplicate record in {title(name, type_)} with content "{shorten_text(content)}"')
        records[text] = is_disabled
        # PowerDNS itself rewrites the SOA whenever the serial changes.
        if type_ != rdtypes.SOA and content != content_for_client(type_, text):
            spellings[text] = content
    return records


def _comments(value: Mapping[str, Any], now: datetime) -> tuple[Comment, ...]:
    found = []
    for comment in list_in(value, "comments"):
        if not isinstance(comment, dict):
            raise Refusal(422, "Key 'content' not present or not a String")
        at = number_in(comment, "modified_at", _LATEST)
        found.append(
            {
                "account": text_in({"account": "", **comment}, "account"),
                "content": text_in(comment, "content"),
                "modified_at": int(now.timestamp()) if at is None else at,
            }
        )
    if len(comment_text(found)) > MOST_COMMENT:
        raise Refusal(422, f"The comments of an RRset may have {MOST_COMMENT} characters together")
    return tuple(found)


def rrset_text(row: StoredRow, attributes: PowerdnsZone, modified_at: int) -> str:
    """Return an RRset as JSON text, with `name` before `records`, as some clients' regular expressions require."""
    name, type_, ttl, texts, disabled, comment, notes = row
    if notes and (spellings := dict(parse_notes(notes).spellings)):
        contents = [(spellings.get(text) or content_for_client(type_, text), text in disabled) for text in texts]
        records = ", ".join([_record_text(content, is_disabled=is_disabled) for content, is_disabled in contents])
    elif type_ in _AS_IT_STANDS and not disabled and "\\" not in "".join(texts):
        records = ", ".join([f'{{"content": {quoted(text)}, "disabled": false}}' for text in texts])
    else:
        records = ", ".join(
            [_record_text(content_for_client(type_, text), is_disabled=text in disabled) for text in texts]
        )
    comments = json.dumps(comments_in_full(attributes, name, type_, comment, modified_at)) if comment else "[]"
    return (
        f'{{"comments": {comments}, "name": {quoted(name)}, "records": [{records}], '
        f'"ttl": {ttl}, "type": "{mnemonic(type_)}"}}'
    )


def _record_text(content: str, *, is_disabled: bool) -> str:
    return f'{{"content": {quoted(content)}, "disabled": {"true" if is_disabled else "false"}}}'


# Most records have one of these types. Without escapes, their canonical text is the same as PowerDNS's.
_AS_IT_STANDS = frozenset(
    (rdtypes.A, rdtypes.AAAA, rdtypes.NS, rdtypes.CNAME, rdtypes.MX, rdtypes.TXT, rdtypes.SOA, rdtypes.PTR, rdtypes.SRV)
)


@cache
def mnemonic(type: int) -> str:
    """Return a record type's mnemonic. The results are cached, because a panel uses only a few types."""
    return rdata.type_to_text(type)
