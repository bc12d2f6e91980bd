"""The builder for LUA records: PowerDNS runs their code for each query. Pure."""

import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.builders.builder_pieces import Piece, Present, Values, items_of
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import Field, Kind, u16
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Key

# A URL without characters that end a string in the code or in the record.
_URL = re.compile(r"https?://[!#-&(-\[\]-~]+")
# The template's name → its description and its code. A set of sets lists alternatives, best first.
_TEMPLATES = {
    "port": (_("Addresses with an open port"), "ifportup({port}, {{{all}}})"),
    "url": (_("Addresses whose web server answers"), "ifurlup('{url}', {{{all}}})"),
    "failover": (_("The first address whose web server answers"), "ifurlup('{url}', {{{each}}})"),
    "random": (_("A random address for each query"), "pickrandom({{{all}}})"),
    "client": (_("Always the same address for a client"), "pickhashed({{{all}}})"),
}


class LuaBuilder:
    """The form that fills in a template for a LUA record."""

    key = "lua"
    title = "LUA"
    purpose = _("Chooses the address for each query, for example only among servers that respond.")
    fields = (
        Field("template", _("Template"), Kind.WORD, choices=tuple((k, v[0]) for k, v in _TEMPLATES.items())),
        Field("type", _("Type of the answers"), Kind.WORD, choices=(("A", "A"), ("AAAA", "AAAA")), default="A"),
        Field("addresses", _("Addresses"), Kind.LIST, _("Enter comma-separated addresses, the best one first.")),
        u16("port", _("Port"), default="443", required=False),
        Field("url", "URL", Kind.STRING, _("The nodes request this URL from each address."), high=255, required=False),
    )

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        return [(owner, rdtypes.LUA)]

    def read(self, owner: str, present: Present) -> dict[str, str]:
        return {}

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        type, url, template = values["type"], values.get("url", "").strip(), _TEMPLATES.get(values["template"])
        if template is None or type not in ("A", "AAAA"):
            raise BadFields({"type" if template else "template": gettext("Choose one of the options.")})
        code = template[1]
        quoted = [_quoted_address(text, type) for text in items_of(values["addresses"])]
        if "{url}" in code and not _URL.fullmatch(url):
            raise BadFields({"url": gettext("Enter a URL that begins with https:// or http://, without quotes.")})
        port, each = values.get("port", "").strip() or "443", ", ".join(f"{{{text}}}" for text in quoted)
        filled = code.format(port=port, url=url, all=", ".join(quoted), each=each)
        text = rdata.parse(rdtypes.LUA, f'{type} "{filled}"')
        return [Piece(owner, rdtypes.LUA, (text,), lambda record: record.startswith(f"{type} "))]


def _quoted_address(text: str, type: str) -> str:
    with suppress(ValueError):
        if (address := ip_address(text)).version == (4 if type == "A" else 6):
            return f"'{address}'"
    raise BadFields({"addresses": gettext("{text} isn’t an address for {type}.").format(text=text, type=type)})
