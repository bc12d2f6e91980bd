"""Serializers for the source and the options of an import.

Most kinds of source have their own field in the request body, listed in `MEMBERS`.
"""

import base64
import binascii
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from rest_framework import serializers

from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import Choice, Flag, Integer, OptionalText, Shape, Text, ZoneName
from dnspanel.transfer import import_limits
from dnspanel.transfer.allowed_servers import DATABASE_PORTS
from dnspanel.transfer.documents import Options
from dnspanel.transfer.models import SourceKind
from dnspanel.transfer.sources.columns import CsvMapping

MOST_NAMED = 100_000
MOST_TTL = 2**31 - 1
# The body's field for each kind of source. Other kinds don't need a field.
MEMBERS = {
    SourceKind.PASTE: "paste",
    SourceKind.AXFR: "axfr",
    SourceKind.POWERDNS_API: "powerdns_api",
    SourceKind.POWERDNS_SQL: "powerdns_sql",
    SourceKind.CSV: "csv",
}
SOURCES = [(str(kind), kind.label) for kind in SourceKind if kind != SourceKind.RETRY]
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
_APEX = [("keep", "the source's"), ("missing", "the source's; ours where it has none"), ("ours", "always ours")]
_COLUMNS = (
    "zone",
    "name",
    "type",
    "ttl",
    "value",
    "priority",
    "disabled",
    "comment",
    "value_comment",
    "tags",
    "rdclass",
)


class OptionsSerializer(Shape):
    """The options of an import: how to read zones, and how to handle new and existing zones."""

    new = Choice(
        choices=[("create", "create"), ("skip", "skip")],
        required=False,
        help_text="Action for zones that do not exist here.",
    )
    existing = Choice(
        choices=[
            ("union", "the values of both"),
            ("rrsets", "RRsets of the source replace the zone's, the others stay"),
            ("replace", "as the source says"),
            ("skip", "skip"),
        ],
        required=False,
        help_text="Action for zones that exist here.",
    )
    nameservers = Choice(choices=_APEX, required=False, help_text="Origin of the NS records at the apex.")
    soa = Choice(choices=_APEX, required=False, help_text="Origin of the SOA values.")
    signatures = Choice(
        choices=[("drop", "leave them out"), ("keep", "signed zones are served as they come")],
        required=False,
        help_text="Action for DNSSEC signatures in the source.",
    )
    ttl = Integer(required=False, allow_null=True, min_value=0, max_value=MOST_TTL, help_text="TTL for all records.")
    ttl_least = Integer(
        required=False, allow_null=True, min_value=0, max_value=MOST_TTL, help_text="Lower TTLs are raised to this."
    )
    ttl_most = Integer(
        required=False, allow_null=True, min_value=0, max_value=MOST_TTL, help_text="Higher TTLs are lowered to this."
    )
    comments = Flag(required=False, help_text="Whether comments in the source become comments of RRsets.")


class PasteSerializer(Shape):
    """A zone file as text."""

    text = Text(max_length=import_limits.MOST_PASTE_BYTES)
    zone = ZoneName(required=False, help_text="Name of the zone, if the text lacks it.")


class AxfrSerializer(Shape):
    """A name server that allows zone transfers.

    Name the zones, or a catalog zone (RFC 9432) that lists them.
    """

    server = Text(max_length=253, help_text="Address or name of the server.")
    port = Integer(default=53, min_value=1, max_value=65535)
    zones = serializers.ListField(child=ZoneName(), default=list, max_length=MOST_NAMED)
    catalog = ZoneName(required=False, help_text="Catalog zone that lists the zones.")
    tsig_name = ZoneName(required=False, help_text="Name of the TSIG key.")
    tsig_algorithm = Choice(
        choices=[(name, name) for name in tsig_secrets.ALGORITHMS],
        default="hmac-sha256",
        help_text="Algorithm of the TSIG key.",
    )
    tsig_secret = OptionalText(max_length=1000, write_only=True, help_text="Base64.")

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if bool(data["zones"]) == bool(data.get("catalog")):
            code = NOT_TOGETHER if data["zones"] else "required"
            raise serializers.ValidationError({"zones": ["Send either `zones` or `catalog`."]}, code)
        if bool(data.get("tsig_name")) != bool(data["tsig_secret"]):
            raise serializers.ValidationError({"tsig_name": ["Send `tsig_name` and `tsig_secret`."]}, "required")
        return data

    def validate_tsig_secret(self, text: str) -> str:
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as exc:
            raise serializers.ValidationError("`tsig_secret` must be Base64.") from exc
        return text


class PowerdnsApiSerializer(Shape):
    """A PowerDNS server with its HTTP API."""

    url = Text(max_length=500)
    key = Text(max_length=1000, write_only=True, help_text="API key of the server.")
    server_id = Text(default="localhost", max_length=100, help_text="Id of the server in its API.")
    zones = serializers.ListField(child=ZoneName(), default=list, max_length=MOST_NAMED, help_text="Empty: all zones.")

    def validate_url(self, text: str) -> str:
        try:
            parts = urlsplit(text)
            good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good or parts.username or parts.password:
            raise serializers.ValidationError(
                "`url` must be a URL such as http://192.0.2.53:8081, without user name and password."
            )
        return text.rstrip("/")


class PowerdnsSqlSerializer(Shape):
    """The database of a PowerDNS server.

    A database user with read-only access is enough.
    """

    kind = Choice(
        choices=[("postgresql", "PostgreSQL"), ("mysql", "MySQL, MariaDB")], help_text="Kind of the database."
    )
    host = Text(max_length=253)
    port = Integer(required=False, min_value=1, max_value=65535)
    database = Text(default="powerdns", max_length=200)
    user = Text(default="powerdns", max_length=200)
    password = OptionalText(max_length=1000, write_only=True)


class CsvSerializer(Shape):
    """The columns of a CSV file, counted from 0.

    If no column contains the zone, use `fixed_zone` or `zones`.
    """

    zone = Integer(required=False, min_value=0, max_value=999)
    name = Integer(min_value=0, max_value=999)
    type = Integer(min_value=0, max_value=999)
    ttl = Integer(required=False, min_value=0, max_value=999)
    value = Integer(min_value=0, max_value=999, help_text="Column of the value.")
    priority = Integer(
        required=False, min_value=0, max_value=999, help_text="Column of the priority of MX and SRV records."
    )
    disabled = Integer(required=False, min_value=0, max_value=999, help_text="Column of the flag for disabled records.")
    comment = Integer(required=False, min_value=0, max_value=999)
    value_comment = Integer(required=False, min_value=0, max_value=999, help_text="Column of the comment on a value.")
    tags = Integer(required=False, min_value=0, max_value=999)
    rdclass = Integer(required=False, min_value=0, max_value=999, help_text="Column of the class.")
    fixed_zone = ZoneName(required=False, help_text="Zone of all records.")
    zones = serializers.ListField(child=ZoneName(), required=False, max_length=MOST_NAMED)
    delimiter = Choice(choices=list(DELIMITERS), default="comma", help_text="Separator of columns.")
    header = Flag(default=True, help_text="Whether the first row is a header.")

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        used = [data[name] for name in _COLUMNS if name in data]
        if len(set(used)) < len(used):
            raise serializers.ValidationError({"name": ["Two members have the same column number."]}, "twice")
        if CsvMapping(**data).missing:
            raise serializers.ValidationError({"zone": ["Send `zone`, `fixed_zone` or `zones`."]}, "required")
        return data | {"delimiter": DELIMITERS[data["delimiter"]]}


def options_of(values: dict[str, Any], before: Options) -> Options:
    """Return the options `before`, updated with `values`. Raise ValidationError if TTL options are contradictory."""
    options = Options.from_json(before.to_json() | values)
    if options.ttl_least is not None and options.ttl_most is not None and options.ttl_least > options.ttl_most:
        raise serializers.ValidationError({"options": {"ttl_most": ["Use at least `ttl_least`."]}}, "out-of-range")
    if options.ttl is not None and (options.ttl_least is not None or options.ttl_most is not None):
        raise serializers.ValidationError({"options": {"ttl": ["Send `ttl` or limits, not both."]}}, NOT_TOGETHER)
    return options


def parameters_of(source: str, told: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str] | None]:
    """Return the arguments for `import_jobs.create_job`: the source's parameters, and separately its secrets."""
    if source == SourceKind.CSV:
        return {"mapping": asdict(CsvMapping(**told))}, None
    secret = {name: told.pop(name) for name in ("tsig_secret", "key", "password") if told.get(name)}
    told.pop("tsig_secret", None)
    told.pop("password", None)
    if source == SourceKind.AXFR:
        told = {"catalog": "", "tsig_name": ""} | told
    if source == SourceKind.POWERDNS_SQL:
        told.setdefault("port", DATABASE_PORTS[told["kind"]])
        secret.setdefault("password", "")
    return told, secret or None


def title_of(source: str, told: dict[str, Any]) -> str:
    """Return a default title for an import: the kind of source, and its server or zone."""
    of = told.get("server") or told.get("host") or urlsplit(told.get("url", "")).netloc or told.get("zone", "")
    return f"{SourceKind(source).label} {of}".strip()[:200]
