"""Builders for DMARC (RFC 7489), MTA-STS (RFC 8461) and TLS-RPT (RFC 8460). Pure."""

import re
from collections.abc import Sequence

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.builders.builder_pieces import (
    Piece,
    Present,
    Values,
    begins_with,
    below,
    format_tags,
    items_of,
    of_records,
    tags_of,
    texts_that,
    txt,
)
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import Field, Kind
from replication.dns import rdtypes
from replication.dns.rrset import Key

_ADDRESS = re.compile(r"[^\s@,;!]{1,64}@[^\s@,;!]{1,253}")
_URI = re.compile(r"(?:mailto:[^\s@,;!]+@[^\s@,;!]+(?:![0-9]+[kmgt]?)?|https://[^\s,;!]+)", re.IGNORECASE)
_STS_ID = re.compile(r"[A-Za-z0-9]{1,32}")
_POLICIES = (
    ("none", _("none: report only")),
    ("quarantine", _("quarantine: treat as spam")),
    ("reject", _("reject: reject mail")),
)
_ALIGNMENTS = (("r", _("relaxed: subdomains also match")), ("s", _("strict: only the exact domain")))
DMARC, STS, TLS_RPT = (begins_with(prefix) for prefix in ("v=DMARC1", "v=STSv1", "v=TLSRPTv1"))


class DmarcBuilder:
    """The form for DMARC: how receivers treat mail that fails both SPF and DKIM."""

    key = "dmarc"
    title = "DMARC"
    purpose = _("Tells receivers how to handle mail from this domain that passes neither SPF nor DKIM.")
    fields = (
        Field("p", _("Policy"), Kind.WORD, choices=_POLICIES, default="none"),
        Field(
            "sp",
            _("Subdomain policy"),
            Kind.WORD,
            _("Leave empty to use the same policy."),
            choices=_POLICIES,
            required=False,
        ),
        Field(
            "rua", _("Daily report addresses"), Kind.LIST, _("Enter comma-separated email addresses."), required=False
        ),
        Field(
            "ruf", _("Failure report addresses"), Kind.LIST, _("Few receivers send failure reports."), required=False
        ),
        Field("adkim", _("DKIM alignment"), Kind.WORD, choices=_ALIGNMENTS, required=False),
        Field("aspf", _("SPF alignment"), Kind.WORD, choices=_ALIGNMENTS, required=False),
        Field(
            "pct",
            _("Percentage of mail"),
            Kind.NUMBER,
            _("Leave empty to apply the policy to all mail."),
            high=100,
            required=False,
        ),
    )

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(below("_dmarc", owner), rdtypes.TXT)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        return _read(self.fields, present.get((below("_dmarc", owner), rdtypes.TXT)), DMARC)

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        tags = [(name, values.get(name, "").strip()) for name in ("p", "sp", "adkim", "aspf", "pct")]
        faults = {
            name: gettext("Choose one of the options.")
            for name, value in tags[:4]
            if value and value not in dict(_POLICIES if name in ("p", "sp") else _ALIGNMENTS)
        }
        addresses = [(name, _addresses(name, values.get(name, ""), faults)) for name in ("rua", "ruf")]
        if faults:
            raise BadFields(faults)
        text = format_tags((("v", "DMARC1"), *tags[:2], *addresses, *tags[2:]))
        return [Piece(below("_dmarc", owner), rdtypes.TXT, (txt(text),), of_records(DMARC))]


class StsBuilder:
    """The form for MTA-STS: other mail servers must use TLS when they send mail to this domain."""

    key = "mta-sts"
    title = "MTA-STS"
    purpose = _(
        "Announces a TLS policy at https://mta-sts.…/.well-known/mta-sts.txt. Change this record whenever "
        "you change the policy."
    )
    fields = (
        Field("id", _("Policy ID"), Kind.WORD, _("Enter letters and digits. Use a new ID for each policy change.")),
        Field(
            "host",
            _("Policy server"),
            Kind.NAME,
            _("Enter the server that the CNAME record at mta-sts points to."),
            required=False,
        ),
    )

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(below("_mta-sts", owner), rdtypes.TXT), (below("mta-sts", owner), rdtypes.CNAME)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        found = _read(self.fields, present.get((below("_mta-sts", owner), rdtypes.TXT)), STS)
        cname = present.get((below("mta-sts", owner), rdtypes.CNAME))
        return found | ({"host": cname.rdata[0]} if cname else {})

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        number, host = values.get("id", "").strip(), values.get("host", "").strip()
        if not _STS_ID.fullmatch(number):
            raise BadFields({"id": gettext("Enter 1 to 32 letters and digits.")})
        text = format_tags((("v", "STSv1"), ("id", number))) + ";"
        pieces = [Piece(below("_mta-sts", owner), rdtypes.TXT, (txt(text),), of_records(STS))]
        if host:
            pieces.append(Piece(below("mta-sts", owner), rdtypes.CNAME, (below(host, owner),)))
        return pieces


class TlsReportBuilder:
    """The form for TLS-RPT: the addresses to which other servers send reports about failed TLS connections."""

    key = "tls-rpt"
    title = "TLS-RPT"
    purpose = _("Tells other mail servers where to report failed TLS connections to this domain.")
    fields = (Field("rua", _("Report address"), Kind.LIST, _("Enter comma-separated email addresses or https URLs.")),)

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(below("_smtp._tls", owner), rdtypes.TXT)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        return _read(self.fields, present.get((below("_smtp._tls", owner), rdtypes.TXT)), TLS_RPT)

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        faults: dict[str, str] = {}
        rua = _addresses("rua", values.get("rua", ""), faults)
        if faults or not rua:
            raise BadFields(faults or {"rua": gettext("Enter an address.")})
        text = format_tags((("v", "TLSRPTv1"), ("rua", rua)))
        return [Piece(below("_smtp._tls", owner), rdtypes.TXT, (txt(text),), of_records(TLS_RPT))]


def dmarc_piece(owner: str, text: str) -> Piece:
    """Return a piece that replaces the DMARC record."""
    return Piece(below("_dmarc", owner), rdtypes.TXT, (txt(text),), of_records(DMARC))


def report_address(typed: str) -> str:
    """Return the `rua=` value for the typed addresses, or "" if there are none. Raise BadFields if one is invalid."""
    faults: dict[str, str] = {}
    found = _addresses("rua", typed, faults)
    if faults:
        raise BadFields(faults)
    return found


def _read(fields: Sequence[Field], current: object, begins: object) -> dict[str, str]:
    texts = texts_that(current, begins)  # type: ignore[arg-type]
    if not texts:
        return {}
    tags = tags_of(texts[0])
    found = {field.name: tags.get(field.name, "") for field in fields}
    for name in ("rua", "ruf"):
        if name in found:
            found[name] = ",".join(item.removeprefix("mailto:") for item in items_of(found[name]))
    return found


def _addresses(name: str, typed: str, faults: dict[str, str]) -> str:
    """Return the typed addresses as comma-separated URIs. Add an error to `faults` if one is invalid."""
    uris = [f"mailto:{item}" if _ADDRESS.fullmatch(item) and ":" not in item else item for item in items_of(typed)]
    bad = [uri for uri in uris if not _URI.fullmatch(uri)]
    if bad:
        faults[name] = gettext("{bad} isn’t a valid email address.").format(bad=bad[0])
    return ",".join(uris)
