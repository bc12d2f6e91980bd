"""Snippets with the records for common mail providers, and for a domain without mail. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.builders.builder_pieces import Piece, Present, Values, below, format_tags, of_records, txt
from dnspanel.zones.builders.reports import DMARC, dmarc_piece, report_address
from dnspanel.zones.builders.spf import present_spf, spf_piece, with_include
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import Field, Kind
from replication.dns import rdtypes
from replication.dns.rrset import Key

_WORD = re.compile(r"[A-Za-z0-9_.=+/-]{1,200}")
_REPORTS = Field(
    "rua",
    _("DMARC report addresses"),
    Kind.LIST,
    _("Enter comma-separated email addresses, or leave empty for no reports."),
    required=False,
)


def _word(name: str, label: str, help_text: str) -> Field:
    return Field(name, label, Kind.STRING, help_text, high=200, required=False)


@dataclass(frozen=True, slots=True)
class Provider:
    """A mail provider's records. Targets and other values can contain `{domain}`, `{dashed}` and form fields."""

    key: str
    title: str
    purpose: str
    mx: tuple[str, ...]  # "preference host"
    include: str
    all: str = "~all"
    aliases: tuple[tuple[str, str], ...] = ()  # name below the domain, target; omitted if a field in it is empty
    verification: tuple[str, str] | None = None  # prefix of the verification TXT record, its text
    more: tuple[Field, ...] = field(default_factory=tuple)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*self.more, _REPORTS)

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        apart = [
            (below("_dmarc", owner), rdtypes.TXT),
            *((below(name, owner), rdtypes.CNAME) for name, _ in self.aliases),
        ]
        return [(owner, rdtypes.MX), (owner, rdtypes.TXT), *apart]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        """Return an empty dict: existing records aren't read, because the values come from the provider."""
        return {}

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        known = _variables(self.more, owner, values)
        pieces = [Piece(owner, rdtypes.MX, tuple(text.format(**known) for text in self.mx))]
        pieces.append(self._texts(owner, known, present))
        for name, target in self.aliases:
            if all(known[each] for each in re.findall(r"\{(\w+)\}", target)):
                pieces.append(Piece(below(name, owner), rdtypes.CNAME, (target.format(**known),)))
        reports = report_address(values.get("rua", ""))
        if not _has_dmarc(owner, present) or reports:
            pieces.append(dmarc_piece(owner, format_tags((("v", "DMARC1"), ("p", "none"), ("rua", reports)))))
        return pieces

    def _texts(self, owner: str, known: dict[str, str], present: Present) -> Piece:
        """Return one piece with SPF and the provider's verification text, because both are in the same RRset."""
        spf = spf_piece(owner, with_include(present_spf(owner, present), self.include, self.all))
        if self.verification is None:
            return spf
        begin, text = self.verification
        if not all(known[each] for each in re.findall(r"\{(\w+)\}", text)):
            return spf
        is_own = of_records(lambda each: each.startswith(begin))
        texts = (*spf.texts, txt(text.format(**known)))
        return Piece(owner, rdtypes.TXT, texts, lambda record: spf.replaces(record) or is_own(record))


@dataclass(frozen=True, slots=True)
class NoMail:
    """The form for a domain that doesn't receive or send mail (RFC 7505)."""

    key: str = "no-mail"
    title: str = _("No mail")
    purpose: str = _("The domain neither receives nor sends mail, so receivers reject all mail from it.")
    fields: tuple[Field, ...] = (_REPORTS,)

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(owner, rdtypes.MX), (owner, rdtypes.TXT), *((below(name, owner), rdtypes.TXT) for name in _NO_MAIL)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        """Return an empty dict: the form doesn't read existing records."""
        return {}

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        reports = report_address(values.get("rua", ""))
        tags = (("v", "DMARC1"), ("p", "reject"), ("sp", "reject"), ("rua", reports), ("adkim", "s"), ("aspf", "s"))
        return [
            Piece(owner, rdtypes.MX, ("0 .",)),
            spf_piece(owner, "v=spf1 -all"),
            dmarc_piece(owner, format_tags(tags)),
            Piece(below("*._domainkey", owner), rdtypes.TXT, (txt("v=DKIM1; p="),)),
        ]


_NO_MAIL = ("_dmarc", "*._domainkey")


def _variables(more: Sequence[Field], owner: str, values: Values) -> dict[str, str]:
    known = {each.name: values.get(each.name, "").strip() for each in more}
    faults = {
        name: gettext("Copy the value exactly as the provider shows it.")
        for name, text in known.items()
        if text and not _WORD.fullmatch(text)
    }
    if faults:
        raise BadFields(faults)
    domain = owner.removesuffix(".")
    return known | {"domain": domain, "dashed": domain.replace(".", "-")}


def _has_dmarc(owner: str, present: Present) -> bool:
    current = present.get((below("_dmarc", owner), rdtypes.TXT))
    return current is not None and any(map(of_records(DMARC), current.served))


PROVIDERS = (
    Provider(
        "google-workspace",
        _("Google Workspace"),
        _("Email with Google. Copy the DKIM key from the Google Admin console and add it with the DKIM builder."),
        mx=("1 smtp.google.com.",),
        include="_spf.google.com",
        verification=("google-site-verification=", "google-site-verification={token}"),
        more=(_word("token", _("Verification"), _("Enter the text after google-site-verification=.")),),
    ),
    Provider(
        "microsoft-365",
        _("Microsoft 365"),
        _("Email with Microsoft, including Autodiscover."),
        mx=("0 {dashed}.mail.protection.outlook.com.",),
        include="spf.protection.outlook.com",
        all="-all",
        aliases=(
            ("autodiscover", "autodiscover.outlook.com."),
            ("selector1._domainkey", "selector1-{dashed}._domainkey.{tenant}.onmicrosoft.com."),
            ("selector2._domainkey", "selector2-{dashed}._domainkey.{tenant}.onmicrosoft.com."),
        ),
        verification=("MS=", "MS={token}"),
        more=(
            _word("token", _("Verification"), _("Enter the text after MS=, for example ms12345678.")),
            _word("tenant", _("Tenant"), _("Enter the first part of ….onmicrosoft.com to add the DKIM records.")),
        ),
    ),
    Provider(
        "fastmail",
        _("Fastmail"),
        _("Email with Fastmail, including DKIM."),
        mx=("10 in1-smtp.messagingengine.com.", "20 in2-smtp.messagingengine.com."),
        include="spf.messagingengine.com",
        all="?all",
        aliases=tuple((f"fm{at}._domainkey", f"fm{at}.{{domain}}.dkim.fmhosted.com.") for at in (1, 2, 3)),
    ),
    Provider(
        "proton-mail",
        _("Proton Mail"),
        _("Email with Proton."),
        mx=("10 mail.protonmail.ch.", "20 mailsec.protonmail.ch."),
        include="_spf.protonmail.ch",
        aliases=tuple(
            (f"{name}._domainkey", f"{name}.domainkey.{{key}}.domains.proton.ch.")
            for name in ("protonmail", "protonmail2", "protonmail3")
        ),
        verification=("protonmail-verification=", "protonmail-verification={token}"),
        more=(
            _word("token", _("Verification"), _("Enter the text after protonmail-verification=.")),
            _word(
                "key",
                "DKIM",
                _("Enter the long part between domainkey. and .domains.proton.ch to add the DKIM records."),
            ),
        ),
    ),
)
