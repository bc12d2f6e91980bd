"""Zones as JSON: one object per line and zone, RRsets as PowerDNS's API has them.

    {"zone": name, "rrsets": [{"name", "type", "ttl", "records": [{"content", "disabled"}],
                               "comments": [{"content"}]}],
     "dnssec": {"nsec3param": "1 0 0 -" or null, "narrow", "cds": "2,4", "cdnskey",
                "keys": [{"flags", "algorithm", "active", "published", "dnskey": rdata, "sealed"}]}}

Names are absolute, contents canonical presentation text, types mnemonics. Zones
that are not signed have no "dnssec", keys without their private parts no "sealed". A zone that is
served with the signatures that it came with has no keys, and "presigned": true.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from dnspanel.transfer.exports.rows import ExportedZone
from replication.dns import rdata

_quoted = json.JSONEncoder(ensure_ascii=False).encode
_member = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def zone_line(zone: ExportedZone, dnssec: dict[str, Any] | None = None) -> Iterator[str]:
    """The zone's line, in pieces; `dnssec` is what `signings.Signings` has of it."""
    opening = f'{{"zone":{_quoted(zone.name)},"rrsets":['
    for name, type_, ttl, texts, disabled, comment in zone.rows:
        records = ",".join([_record(text, text in disabled) for text in texts])
        comments = f'{{"content":{_quoted(comment)}}}' if comment else ""
        yield (
            f'{opening}{{"name":{_quoted(name)},"type":{_type(type_)},"ttl":{ttl},'
            f'"records":[{records}],"comments":[{comments}]}}'
        )
        opening = ","
    yield "]}\n" if dnssec is None else f'],"dnssec":{_member(dnssec)}}}\n'


def _record(text: str, is_disabled: bool) -> str:
    return f'{{"content":{_quoted(text)},"disabled":{"true" if is_disabled else "false"}}}'


@cache
def _type(type: int) -> str:
    return _quoted(rdata.type_to_text(type))
