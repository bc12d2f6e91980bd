"""Write JSON exports: one line with one object per zone, with RRsets as in PowerDNS's API.

    {"zone": name, "rrsets": [{"name", "type", "ttl", "records": [{"content", "disabled", "comment"}],
                               "comments": [{"content"}], "tags": […]}],
     "dnssec": {"nsec3param": "1 0 0 -" or null, "narrow", "cds": "2,4", "cdnskey",
                "keys": [{"flags", "algorithm", "active", "published", "dnskey": rdata, "sealed"}]}}

Names are absolute, contents are canonical presentation text, and types are mnemonics. Unsigned zones have no "dnssec".
Only keys whose private part is exported have "sealed". RRsets without tags have no "tags", and records without a
comment have no "comment". A zone that is served with its source's signatures has no keys, has "presigned": true, and
lists further NSEC3 chains in "other_nsec3params".
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from dnspanel.transfer.exports.exported_rows import ExportedZone
from replication.dns import rdata
from replication.dns.rrset import parse_notes

_quoted = json.JSONEncoder(ensure_ascii=False).encode
_member = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def zone_line(zone: ExportedZone, dnssec: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield the zone's line in pieces. `dnssec` is the zone's `dnssec` member from `signings.Signings`."""
    opening = f'{{"zone":{_quoted(zone.name)},"rrsets":['
    for name, type_, ttl, texts, disabled, comment, notes in zone.rows:
        noted = parse_notes(notes)
        of_value = dict(noted.comments)
        records = ",".join([_record(text, of_value.get(text, ""), is_disabled=text in disabled) for text in texts])
        tags = f',"tags":{_member(list(noted.tags))}' if noted.tags else ""
        comments = f'{{"content":{_quoted(comment)}}}' if comment else ""
        yield (
            f'{opening}{{"name":{_quoted(name)},"type":{_type(type_)},"ttl":{ttl},'
            f'"records":[{records}],"comments":[{comments}]{tags}}}'
        )
        opening = ","
    yield "]}\n" if dnssec is None else f'],"dnssec":{_member(dnssec)}}}\n'


def _record(text: str, comment: str, *, is_disabled: bool) -> str:
    remarks = f',"comment":{_quoted(comment)}' if comment else ""
    return f'{{"content":{_quoted(text)},"disabled":{"true" if is_disabled else "false"}{remarks}}}'


@cache
def _type(type: int) -> str:
    return _quoted(rdata.type_to_text(type))
