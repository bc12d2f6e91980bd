"""Builder for SPF (RFC 7208): explain a record's terms, and create a record from form fields. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.builders.builder_pieces import Piece, Present, Values, items_of, of_records, texts_that, txt
from dnspanel.zones.errors import BadFields
from dnspanel.zones.rules.mail_rules import MAX_SPF_LOOKUPS, spf_lookups
from dnspanel.zones.typed.fields import Field, Kind
from replication.dns import names, rdtypes
from replication.dns.rrset import Key
from replication.errors import BadName

ALL: tuple[tuple[str, str], ...] = (
    ("~all", _("~all: soft fail (usually treated as spam)")),
    ("-all", _("-all: fail (rejected)")),
    ("?all", _("?all: neutral (no statement)")),
)
_TERM = re.compile(r"([-+?~]?)([A-Za-z][A-Za-z0-9_.-]*)(?:([:=/])(.*))?", re.DOTALL)
_QUALIFIERS = {
    "": _("allowed to send"),
    "+": _("allowed to send"),
    "-": _("not allowed to send"),
    "~": _("soft fail (probably not allowed to send)"),
    "?": _("neutral (no statement)"),
}
_MECHANISMS = {
    "all": _("everyone else"),
    "include": _("senders allowed by the SPF record for {}"),
    "a": _("the addresses of {}"),
    "mx": _("the mail servers of {}"),
    "ptr": _("senders with a reverse DNS name below {} (slow, do not use)"),
    "ip4": "{}",
    "ip6": "{}",
    "exists": _("all senders, if the name {} exists"),
}


@dataclass(frozen=True, slots=True)
class Term:
    """A term of an SPF record, such as `include:_spf.example.net`."""

    text: str
    qualifier: str
    name: str  # of the mechanism or modifier, in lower case
    value: str

    @property
    def is_modifier(self) -> bool:
        return self.text.startswith((f"{self.name}=", f"{self.name.upper()}="))

    @property
    def looks_up(self) -> bool:
        """True if receivers need DNS lookups for the term. They make at most ten per record."""
        return bool(spf_lookups(f"v=spf1 {self.text}"))

    @property
    def message(self) -> str:
        """A sentence that explains the term."""
        if self.name == "redirect":
            return gettext("For all other senders, the SPF record for {value} applies.").format(value=self.value)
        if self.is_modifier:
            return (
                gettext("A message for rejected senders.")
                if self.name == "exp"
                else gettext("Unknown modifier. Receivers ignore it.")
            )
        if self.name not in _MECHANISMS:
            return gettext("Unknown term. Receivers treat the record as invalid.")
        senders = _MECHANISMS[self.name].format(self.value or gettext("this name"))
        return gettext("{senders}: {verdict}.").format(
            senders=f"{senders[:1].upper()}{senders[1:]}", verdict=_QUALIFIERS[self.qualifier]
        )


def is_spf(text: str) -> bool:
    """Return True if receivers treat this text as an SPF record."""
    return text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")


def terms_of(text: str) -> list[Term]:
    """Return an SPF record's terms, without the version."""
    return [_term(word) for word in text.split()[1:]]


def with_include(text: str, domain: str, default_all: str) -> str:
    """Add a missing `include:domain` to an SPF `text`, before `all` or `redirect`. Empty text becomes a new record."""
    words = text.split() if text else ["v=spf1", default_all]
    include = f"include:{domain}"
    if include in (word.lower() for word in words):
        return " ".join(words)
    at = next((at for at, word in enumerate(words) if _ends(word)), len(words))
    return " ".join((*words[:at], include, *words[at:]))


def present_spf(owner: str, present: Present) -> str:
    """Return the SPF record at a name, or "" if the name has none."""
    return next(iter(texts_that(present.get((owner, rdtypes.TXT)), is_spf)), "")


def spf_piece(owner: str, text: str) -> Piece:
    """Return a piece that replaces all SPF records at this name."""
    return Piece(owner, rdtypes.TXT, (txt(text),), of_records(is_spf))


class SpfBuilder:
    """The form for SPF: which servers are allowed to send mail for a domain."""

    key = "spf"
    title = "SPF"
    purpose = _("Lists the servers that are allowed to send mail from this domain.")
    fields = (
        Field("mx", _("Mail servers (mx)"), Kind.FLAG, _("Allow the servers in the MX records."), required=False),
        Field(
            "a",
            _("Own addresses (a)"),
            Kind.FLAG,
            _("Allow the addresses in this name’s A and AAAA records."),
            required=False,
        ),
        Field(
            "include",
            _("Providers (include)"),
            Kind.LIST,
            _("Enter comma-separated domains, for example _spf.google.com."),
            required=False,
        ),
        Field("ip4", _("IPv4 addresses"), Kind.LIST, _("Enter comma-separated addresses or networks."), required=False),
        Field("ip6", _("IPv6 addresses"), Kind.LIST, _("Enter comma-separated addresses or networks."), required=False),
        Field(
            "other",
            _("Other terms"),
            Kind.REST,
            _("Enter SPF terms as they appear in the record, separated by spaces."),
            required=False,
        ),
        Field("all", _("Everyone else"), Kind.REST, choices=ALL, default="~all", required=False),
    )

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(owner, rdtypes.TXT)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        text = present_spf(owner, present)
        if not text:
            return {}
        found = {field.name: "" for field in self.fields}
        terms = terms_of(text)
        # If a term rejects senders, the order of terms matters. Then all other terms stay in the field `other`.
        is_plain = all(term.qualifier in ("", "+") or term.name == "all" for term in terms)
        for term in terms:
            if term.name == "all" and term is terms[-1]:
                found["all"] = f"{term.qualifier or '+'}all"
            elif is_plain and term.name in ("mx", "a") and not term.value and not term.is_modifier:
                found[term.name] = "yes"
            elif is_plain and term.name in ("include", "ip4", "ip6"):
                found[term.name] = ",".join(filter(None, (found[term.name], term.value)))
            else:
                found["other"] = f"{found['other']} {term.text}".strip()
        return found

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        return [spf_piece(owner, self.text(values))]

    def text(self, values: Values) -> str:
        """Return the SPF record for the field values. Raise BadFields if a value is invalid."""
        _check(values)
        terms = [name for name in ("mx", "a") if values.get(name)]
        terms += [f"{kind}:{item}" for kind in ("ip4", "ip6", "include") for item in items_of(values.get(kind, ""))]
        others = values.get("other", "").split()
        return " ".join(("v=spf1", *terms, *others, *filter(None, [values.get("all", "").strip()])))


def _check(values: Values) -> None:
    faults = {}
    for kind, version in (("ip4", 4), ("ip6", 6)):
        bad = [item for item in items_of(values.get(kind, "")) if not _is_network(item, version)]
        if bad:
            faults[kind] = gettext("{bad} isn’t a valid IPv{version} address or network.").format(
                bad=bad[0], version=version
            )
    bad = [item for item in items_of(values.get("include", "")) if not _is_domain(item)]
    if bad:
        faults["include"] = gettext("{bad} isn’t a valid domain.").format(bad=bad[0])
    broken = [word for word in values.get("other", "").split() if not _is_known(_term(word))]
    if broken:
        faults["other"] = gettext("{broken} isn’t a valid SPF term.").format(broken=broken[0])
    if values.get("all", "").strip() not in ("", "+all", *dict(ALL)):
        faults["all"] = gettext("Choose one of the options.")
    if not faults:
        text = " ".join(f"include:{item}" for item in items_of(values.get("include", "")))
        if spf_lookups(f"v=spf1 {text} {values.get('other', '')}") > MAX_SPF_LOOKUPS:
            faults["include"] = gettext(
                "This record needs more than {max_spf_lookups} DNS lookups, so receivers treat it as invalid."
            ).format(max_spf_lookups=MAX_SPF_LOOKUPS)
    if faults:
        raise BadFields(faults)


def _term(word: str) -> Term:
    match = _TERM.fullmatch(word)
    if match is None:
        return Term(word, "", "", "")
    value = match[4] or ""
    return Term(word, match[1], match[2].lower(), f"/{value}" if match[3] == "/" else value)


def _ends(word: str) -> bool:
    """Return True if this term (`all` or `redirect`) belongs at the end of a record."""
    return _term(word).name in ("all", "redirect")


def _is_known(term: Term) -> bool:
    return term.name in _MECHANISMS or (term.is_modifier and bool(term.value))


def _is_network(text: str, version: int) -> bool:
    try:
        return ip_network(text, strict=False).version == version
    except ValueError:
        return False


def _is_domain(text: str) -> bool:
    if "%{" in text:  # a macro, which only receivers can expand
        return True
    try:
        return "." in names.parse(text)[:-1]
    except BadName:
        return False
