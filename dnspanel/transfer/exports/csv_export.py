r"""Write CSV exports: one record per line, in UTF-8, quoted as in RFC 4180.

    zone,name,type,ttl,value,disabled,comment,value_comment,tags

A spreadsheet reads a cell that begins with `= + - @`, a tab or a carriage return as a formula. These rules keep a
spreadsheet from running the text of a TXT record, and still let an import restore the exact text:

- In names, and in values that begin with a name, such a first character is written as the `\DDD` escape of zone files.
  Zone-file parsers read the same name. A name that begins with `#` is also escaped, because CSV readers often skip such
  lines.
- Other values that begin with such a character (base64 can begin with `+`) use the RFC 3597 form `\# length hex`.
- A comment or tag that begins with such a character or with an apostrophe gets one apostrophe before it. The CSV import
  removes one apostrophe at the start of a comment or tag.
"""

import csv
import io
from collections.abc import Iterator
from functools import cache

from dnspanel.transfer.exports.bind import generic_text
from dnspanel.transfer.exports.exported_rows import ExportedZone
from replication.dns import rdata, rdtypes
from replication.dns.rrset import parse_notes
from replication.dns.signed_ttls import ttl_of_signature

COLUMNS = ("zone", "name", "type", "ttl", "value", "disabled", "comment", "value_comment", "tags")

_FORMULA = frozenset("=+-@\t\r")
_BEGINS_WITH_NAME = frozenset(
    (
        *(rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.DNAME, rdtypes.ALIAS, rdtypes.SOA),
        *(rdtypes.MB, rdtypes.MG, rdtypes.MR, rdtypes.MINFO, rdtypes.RP),
    )
)


def header() -> str:
    """Return the header line with the names of the columns."""
    return ",".join(COLUMNS) + "\r\n"


def zone_lines(zone: ExportedZone) -> Iterator[str]:
    """Yield the zone's lines, in pieces of about 64 KiB."""
    out = io.StringIO(newline="")
    write = csv.writer(out).writerow
    apex = _safe_name(zone.name)
    for name, type_, ttl, texts, disabled, comment, notes in zone.rows:
        owner, noted = _safe_name(name), parse_notes(notes)
        remarks, tags = (
            safe_comment(comment) if comment else "",
            safe_comment(" ".join(noted.tags)) if noted.tags else "",
        )
        for text in texts:
            value = text if text[0] not in _FORMULA else _safe_value(type_, text)
            is_off = "yes" if text in disabled else ""
            own = noted.comment_of(text)
            own_ttl = ttl_of_signature(text) if type_ == rdtypes.RRSIG else ttl
            write(
                (apex, owner, _mnemonic(type_), own_ttl, value, is_off, remarks, safe_comment(own) if own else "", tags)
            )
        if out.tell() > 65_536:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def harmless_cell(value: object) -> object:
    """Return a value as a cell that spreadsheets don't run, for a table that is never imported."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value


def safe_comment(comment: str) -> str:
    """Return a comment as a cell that spreadsheets don't run. `plain_comment` restores it."""
    return "'" + comment if comment[0] in _FORMULA or comment[0] == "'" else comment


def plain_comment(cell: str) -> str:
    """Return the comment from a cell that `safe_comment` created."""
    return cell.removeprefix("'")


def _safe_name(name: str) -> str:
    return name if name[0] not in _FORMULA and name[0] != "#" else f"\\{ord(name[0]):03d}{name[1:]}"


def _safe_value(type: int, text: str) -> str:
    return _safe_name(text) if type in _BEGINS_WITH_NAME else generic_text(type, text)


@cache
def _mnemonic(type: int) -> str:
    return rdata.type_to_text(type)
