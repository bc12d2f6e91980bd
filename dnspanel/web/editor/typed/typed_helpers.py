"""Compute values for the side panel: TLSA and SMIMEA from certificates, SSHFP from keys, and SVCB address hints."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cryptography import x509
from django.conf import settings

from dnspanel.fleet.lookups.tls_certificate import NoCertificate, certificate_of
from dnspanel.fleet.lookups.turns import Busy, turn
from dnspanel.texts import gettext
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import AmbiguousName, read_owner
from dnspanel.web.editor.typed.typed_values import TypedInput, TypedValues
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.zones.errors import BadFields
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from dnspanel.zones.typed import computed
from dnspanel.zones.typed.fields import Layout
from replication.dns import names, rdtypes
from replication.errors import ReplicationError

COMPUTING = ("certificate", "server", "keys", "hints")
_SERVICE = re.compile(r"_([0-9]{1,5})\._(?:tcp|udp|sctp)\.(.+)", re.IGNORECASE)
_ABOUT_TLSA = ("usage", "selector", "matching")


@dataclass(frozen=True, slots=True)
class Helper:
    """The part of the panel that computes values: its input and its result message."""

    layout: Layout
    typed: Mapping[str, str]
    host: str = ""
    port: str = ""
    fault: str = ""
    message: str = ""

    @property
    def kind(self) -> str:
        """The kind of computation: `tlsa`, `sshfp` or `hints`, or "" for other types."""
        return _KINDS.get(self.layout.type, "")

    @property
    def may_ask(self) -> bool:
        """True if the certificate can be fetched from a server. Servers don't send SMIMEA certificates."""
        return self.layout.type == rdtypes.TLSA

    @property
    def certificate(self) -> str:
        return self.typed.get("help-certificate", "")

    @property
    def keys(self) -> str:
        return self.typed.get("help-keys", "")

    @property
    def typed_host(self) -> str:
        return self.typed.get("help-host", "")

    @property
    def typed_port(self) -> str:
        return self.typed.get("help-port", "")

    @property
    def is_open(self) -> bool:
        return bool(self.fault or self.message or self.pending)

    @property
    def pending(self) -> str:
        """The action for the Enter key if an input for a computation is filled in, otherwise ""."""
        if self.kind == "tlsa":
            return "certificate" if self.certificate.strip() else "server" if self.typed_host.strip() else ""
        return "keys" if self.kind == "sshfp" and self.keys.strip() else ""

    @property
    def choices(self) -> list[TypedInput]:
        """The fields for a computed value's usage, selector and matching type."""
        fields = [each for each in self.layout.fields if each.name in _ABOUT_TLSA]
        return [TypedInput(each, f"help-{each.name}", self.value_of(each.name), "") for each in fields]

    def value_of(self, name: str) -> str:
        defaults = {each.name: each.default for each in self.layout.fields}
        return self.typed.get(f"help-{name}", "") or defaults[name]

    @property
    def with_sha1(self) -> bool:
        return "help-sha1" in self.typed


_KINDS = {
    rdtypes.TLSA: "tlsa",
    rdtypes.SMIMEA: "tlsa",
    rdtypes.SSHFP: "sshfp",
    rdtypes.SVCB: "hints",
    rdtypes.HTTPS: "hints",
}


def helper_of(layout: Layout, zone: Zone, owner: str, typed: Mapping[str, object]) -> Helper | None:
    """Return the type's helper with its input, or None if the type has no computed values."""
    if layout.type not in _KINDS:
        return None
    kept = {name: str(value)[: computed.LONGEST_PEM + 1] for name, value in typed.items() if name.startswith("help-")}
    match = _SERVICE.fullmatch(_absolute(owner, zone))
    return Helper(layout, kept, match[2].removesuffix(".") if match else "", match[1] if match else "443")


def compute(
    request: PanelRequest, zone: Zone, owner: str, values: TypedValues, helper: Helper, act: str
) -> tuple[TypedValues, Helper]:
    """Return the values with computed ones or address hints, and the helper with the result.

    If the computation fails, the values don't change. Contact servers outside transactions.
    """
    try:
        if act == "hints":
            return _with_hints(request, zone, owner, values), replace(
                helper, message=gettext("Hints updated from the zone.")
            )
        found = _compute_values(helper, act)
    except (BadFields, NoCertificate, Busy) as exc:
        return values, replace(helper, fault=str(exc))
    message = (
        gettext("One value computed.")
        if len(found) == 1
        else gettext("{found} values computed.").format(found=len(found))
    )
    kept = {name: value for name, value in helper.typed.items() if name.removeprefix("help-") in _ABOUT_TLSA}
    return values.with_more(found), replace(helper, typed=kept, message=message)


def _compute_values(helper: Helper, act: str) -> list[dict[str, str]]:
    if act == "keys":
        return computed.sshfp_of(helper.keys, with_sha1=helper.with_sha1)
    usage = helper.value_of("usage")
    if act == "certificate":
        chain: Sequence[x509.Certificate] = computed.certificates_of(helper.certificate)
    else:
        if usage in computed.AUTHORITIES:
            raise BadFields(
                {"": gettext("Servers only send their own certificate. Paste the authority’s certificate instead.")}
            )
        chain = [_certificate_of_server(helper)]
    certificate = computed.certificate_for(usage, chain)
    chosen = {name: helper.value_of(name) for name in _ABOUT_TLSA}
    return [computed.tlsa_of(certificate, **chosen)]


def _certificate_of_server(helper: Helper) -> x509.Certificate:
    host, port = helper.typed_host.strip() or helper.host, helper.typed_port.strip() or helper.port
    if not host:
        raise BadFields({"": gettext("Enter a server name.")})
    return fetch_certificate(host, port)


def fetch_certificate(host: str, port: str) -> x509.Certificate:
    """Return the certificate that a server shows at this port. Call this outside any transaction.

    Raise BadFields for a wrong port or certificate, Busy if too many lookups run, and NoCertificate if the server sends
    none or the panel isn't allowed to use its address.
    """
    if not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise BadFields({"": gettext("The port must be a number from 1 to 65535.")})
    with turn():
        found = certificate_of(host, int(port), networks=settings.SOURCE_NETWORKS)
    return computed.read_certificate(found)


def _with_hints(request: PanelRequest, zone: Zone, owner: str, values: TypedValues) -> TypedValues:
    """Return the values with hints for their targets' current addresses, except aliases (priority 0).

    Raise BadFields if a target has no address in this zone.
    """
    filled = []
    for value in values.values:
        fields = dict(value.fields)
        if fields["priority"].strip() != "0":
            target = owner if fields["target"].strip() == "." else fields["target"]
            ipv4, ipv6 = (list(_addresses(request, zone, target, type)) for type in (rdtypes.A, rdtypes.AAAA))
            if not ipv4 and not ipv6:
                raise BadFields(
                    {
                        "": gettext("This zone doesn’t have an A or AAAA record for {value}.").format(
                            value=target or gettext("the name of this record")
                        )
                    }
                )
            fields |= computed.hints_of(ipv4, ipv6)
        filled.append(replace(value, fields=fields))
    return replace(values, values=tuple(filled))


def _addresses(request: PanelRequest, zone: Zone, name: str, type: int) -> Iterator[str]:
    absolute = _absolute(name, zone)
    if absolute and names.is_within(absolute, zone.name):
        row = rrset_pages.rrset_row(zone=zone, author=request.user, name=absolute, type=type)
        yield from row.change.after.served if row.change.after else ()


def _absolute(name: str, zone: Zone) -> str:
    """Return the typed name as an absolute name, or "" if it isn't in this zone."""
    try:
        return read_owner(name, zone.name)
    except (Unreadable, AmbiguousName, ReplicationError):
        return ""
