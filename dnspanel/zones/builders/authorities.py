"""Builder for CAA (RFC 8659): the authorities that are allowed to issue certificates, and a report address. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.builders.builder_pieces import Piece, Present, Values, items_of
from dnspanel.zones.builders.reports import report_address
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import Field, Kind, quote_text
from dnspanel.zones.typed.layouts import LAYOUTS
from dnspanel.zones.typed.rdata_fields import parse_fields
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Key
from replication.errors import BadName

_CAA = LAYOUTS[rdtypes.CAA]
_KNOWN = (
    ("letsencrypt.org", "Let’s Encrypt"),
    ("pki.goog", _("Google Trust Services")),
    ("digicert.com", "DigiCert"),
    ("sectigo.com", _("Sectigo")),
    ("globalsign.com", "GlobalSign"),
    ("amazon.com", _("Amazon")),
)
_OURS = ("issue", "issuewild", "iodef")
_ISSUERS = Path(__file__).parent / "issuers.txt"


class CaaBuilder:
    """The form for CAA records: the allowed authorities, also for wildcards, and the address for reports."""

    key = "caa"
    title = "CAA"
    purpose = _(
        "The certificate authorities that can issue certificates for this name and its subdomains. An "
        "empty list allows no authority."
    )
    fields = (
        Field(
            "issue",
            _("Authorities"),
            Kind.LIST,
            _("Enter a comma-separated list of domains, for example letsencrypt.org."),
            choices=_KNOWN,
            required=False,
            is_open=True,
        ),
        Field(
            "issuewild",
            _("Authorities for wildcards"),
            Kind.LIST,
            _("Leave empty to allow the same authorities."),
            required=False,
        ),
        Field(
            "no_wildcards",
            _("No wildcards"),
            Kind.FLAG,
            _("No authority can issue wildcard certificates."),
            required=False,
        ),
        Field("iodef", _("Report address"), Kind.LIST, _("Enter an email address."), required=False),
    )

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(owner, rdtypes.CAA)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        current = present.get((owner, rdtypes.CAA))
        if current is None:
            return {}
        found: dict[str, list[str]] = {}
        for record in current.served:
            fields = parse_fields(_CAA, record)
            found.setdefault(fields["tag"], []).append(fields["value"])
        return {
            "issue": ",".join(each for each in found.get("issue", []) if each != ";"),
            "issuewild": ",".join(each for each in found.get("issuewild", []) if each != ";"),
            "no_wildcards": "yes" if found.get("issuewild") == [";"] else "",
            "iodef": ",".join(each.removeprefix("mailto:") for each in found.get("iodef", [])),
        }

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        records = [("issue", each) for each in _domains("issue", values) or [";"]]
        wild = [";"] if values.get("no_wildcards") else _domains("issuewild", values)
        records += [("issuewild", each) for each in wild]
        try:
            reports = report_address(values.get("iodef", ""))
        except BadFields as exc:
            raise BadFields({"iodef": str(exc)}) from exc
        records += [("iodef", each) for each in items_of(reports)]
        texts = tuple(rdata.parse(rdtypes.CAA, f"0 {tag} {quote_text(value)}") for tag, value in records)
        return [Piece(owner, rdtypes.CAA, texts, lambda record: parse_fields(_CAA, record)["tag"] in _OURS)]


def _domains(name: str, values: Values) -> list[str]:
    found = [each.strip() for each in values.get(name, "").split(",") if each.strip()]
    for each in found:
        try:
            is_domain = "." in names.parse(each.partition(";")[0].strip())[:-1]
        except BadName:
            is_domain = False
        if not is_domain:
            raise BadFields({name: gettext("{each} isn’t a valid certificate authority domain.").format(each=each)})
    return found


@dataclass(frozen=True, slots=True)
class IssuerVerdict:
    """The issuer of a certificate, the domains that allow it, and True if CAA records do. None: an unknown issuer."""

    issuer: str
    domains: tuple[str, ...]
    is_allowed: bool | None


def judge_issuer(certificate: x509.Certificate, values: Values) -> IssuerVerdict:
    """Check if the builder's CAA records allow the issuer of this certificate to renew it (RFC 8659 section 4).

    A certificate that contains a wildcard name needs an authority for wildcards.
    """
    name, kinds = certificate.issuer, (NameOID.ORGANIZATION_NAME, NameOID.COMMON_NAME)
    found = (str(each.value) for kind in kinds for each in name.get_attributes_for_oid(kind))
    issuer = next(found, name.rfc4514_string())
    folded = issuer.lower().replace("’", "'")
    rows = [line.partition(":") for line in _ISSUERS.read_text().splitlines() if not line.startswith("#")]
    domains = next((tuple(text.split()) for words, _, text in rows if words in folded), ())
    if not domains:
        return IssuerVerdict(issuer, (), None)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        has_wildcard = any(each.startswith("*.") for each in names.get_values_for_type(x509.DNSName))
    except (x509.ExtensionNotFound, ValueError):
        has_wildcard = False
    allowed = _domains("issue", values)
    if has_wildcard:
        allowed = [] if values.get("no_wildcards") else _domains("issuewild", values) or allowed
    named = {each.partition(";")[0].strip().lower().rstrip(".") for each in allowed}
    return IssuerVerdict(issuer, domains, not named.isdisjoint(domains))
