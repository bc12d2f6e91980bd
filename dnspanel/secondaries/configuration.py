"""Create the configuration that a secondary's operator copies: key, addresses of the panel, and catalog zone.

BIND 9.18, Knot DNS 3, NSD from 4.9 and PowerDNS from 4.7 read catalog zones. For older NSD, a second variant lists
every zone. BIND from 9.18, NSD from 4.4 and Knot DNS from 3.4 transfer over TLS (RFC 9103).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.secondaries.models import Kind, Secondary, Transport
from dnspanel.secondaries.secondary_catalog import catalog_name
from dnspanel.secondaries.server_addresses import host_and_port
from dnspanel.secondaries.server_certificate import TlsEndpoint
from dnspanel.texts import gettext
from replication.wire.protocol import join_port

NO_SECRET = "THE-SECRET-OF-THE-KEY"
# The directories for transferred zones, as in Debian's packages.
_BIND_DIRECTORY = "/var/cache/bind"
# The directories for TLS files, which contain the server's own configuration.
_PLACES = {Kind.BIND: "/etc/bind", Kind.NSD: "/etc/nsd", Kind.KNOT: "/etc/knot"}
_AUTHORITY, _CERTIFICATE, _KEY = "dnspanel-authority.pem", "dnspanel-client.pem", "dnspanel-client.key"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the configuration, with the file or section that it belongs in."""

    place: str
    text: str


def parts_for(
    secondary: Secondary,
    *,
    gateways: Sequence[str],
    secret: str = NO_SECRET,
    zones: Sequence[str] = (),
    tls: TlsEndpoint | None = None,
) -> list[Part]:
    """Return the parts of the secondary's configuration. `gateways` are the panel's addresses with ports.

    `zones` are listed only in the variant for NSD without catalog zones. `tls` describes transfers over TLS. It is
    required if the secondary has to use TLS, because other transfers are refused.
    """
    over_tls = tls if secondary.transport != Transport.ANY else None
    made = _Made(secondary, [host_and_port(each) for each in gateways], secret, over_tls)
    match Kind(secondary.kind):
        case Kind.BIND:
            parts = made.bind()
        case Kind.KNOT:
            parts = made.knot()
        case Kind.NSD:
            parts = made.nsd(zones)
        case Kind.POWERDNS:
            parts = made.powerdns()
        case Kind.OTHER:
            parts = made.other()
    return [*made.files(), *parts]


class _Made:
    def __init__(
        self, secondary: Secondary, gateways: Sequence[tuple[str, int]], secret: str, tls: TlsEndpoint | None
    ) -> None:
        self._tls = tls
        self._shows_certificate = tls is not None and secondary.transport == Transport.CERTIFICATE
        self._place = _PLACES.get(Kind(secondary.kind), ".")
        self._key = secondary.tsig_name.removesuffix(".")
        self._algorithm = secondary.tsig_algorithm
        self._catalog = catalog_name(secondary).removesuffix(".")
        self._gateways = gateways if tls is None else tls.addresses
        self._secret = secret

    def files(self) -> list[Part]:
        """Return the parts that are separate files. They come before all other parts."""
        if self._tls is None or not self._tls.authority or self._pins_key:
            return []
        return [Part(gettext("file {path}").format(path=f"{self._place}/{_AUTHORITY}"), self._tls.authority)]

    @property
    def _pins_key(self) -> bool:
        return self._place == _PLACES[Kind.KNOT]

    def _own(self, name: str, key_name: str, form: str) -> str:
        """Return the lines that name the secondary's certificate and key files, or "" if it has no certificate."""
        if not self._shows_certificate:
            return ""
        return form.format(name, f"{self._place}/{_CERTIFICATE}") + form.format(key_name, f"{self._place}/{_KEY}")

    def _bind_tls(self) -> str:
        if self._tls is None:
            return ""
        authority = f'    ca-file "{self._place}/{_AUTHORITY}";\n' if self._tls.authority else ""
        own = self._own("cert-file", "key-file", '    {} "{}";\n')
        name = f'    remote-hostname "{self._tls.name}";\n'
        return f'tls "dnspanel" {{\n{authority}{name}{own}    protocols {{ TLSv1.3; }};\n}};\n'

    def bind(self) -> list[Part]:
        over = ' tls "dnspanel"' if self._tls else ""
        primaries = " ".join(f'{host} port {port} key "{self._key}"{over};' for host, port in self._gateways)
        options = (
            f'allow-notify {{ key "{self._key}"; }};\n'
            "catalog-zones {\n"
            f'    zone "{self._catalog}"\n'
            f"        default-primaries {{ {primaries} }}\n"
            f'        zone-directory "{_BIND_DIRECTORY}"\n'
            "        min-update-interval 1;\n"
            "};\n"
        )
        rest = self._bind_tls() + (
            f'key "{self._key}" {{\n    algorithm {self._algorithm};\n    secret "{self._secret}";\n}};\n'
            f'zone "{self._catalog}" {{\n'
            "    type secondary;\n"
            f"    primaries {{ {primaries} }};\n"
            f'    file "{_BIND_DIRECTORY}/{self._catalog}.db";\n'
            "};\n"
        )
        return [
            Part(gettext("inside the options { … } block"), options),
            Part(gettext("outside the options block in named.conf"), rest),
        ]

    def knot(self) -> list[Part]:
        addresses = ", ".join(f"{host}@{port}" for host, port in self._gateways)
        server = f"server:\n{own}\n" if (own := self._own("cert-file", "key-file", "    {}: {}\n")) else ""
        over = f"    tls: on\n    cert-key: {self._tls.pin}\n" if self._tls else ""
        text = server + (
            f"key:\n  - id: {self._key}\n    algorithm: {self._algorithm}\n    secret: {self._secret}\n\n"
            f"remote:\n  - id: dnspanel\n    address: [ {addresses} ]\n    key: {self._key}\n{over}\n"
            f"acl:\n  - id: dnspanel-notify\n    key: {self._key}\n    action: notify\n\n"
            "template:\n  - id: dnspanel-member\n    master: dnspanel\n    acl: dnspanel-notify\n\n"
            f"zone:\n  - domain: {self._catalog}.\n    master: dnspanel\n    acl: dnspanel-notify\n"
            "    catalog-role: interpret\n    catalog-template: dnspanel-member\n"
        )
        return [Part(gettext("in knot.conf"), text)]

    def nsd(self, zones: Sequence[str]) -> list[Part]:
        key = f'key:\n    name: "{self._key}"\n    algorithm: {self._algorithm}\n    secret: "{self._secret}"\n\n'
        over = " dnspanel" if self._tls else ""
        requests = "".join(f"    request-xfr: {host}@{port} {self._key}{over}\n" for host, port in self._gateways)
        notify = f"    allow-notify: 0.0.0.0/0 {self._key}\n    allow-notify: ::/0 {self._key}\n"
        pattern = f'pattern:\n    name: "dnspanel"\n{requests}{notify}'
        key = self._nsd_tls() + key
        catalog = (
            f'\nzone:\n    name: "{self._catalog}"\n    catalog: consumer\n'
            '    catalog-member-pattern: "dnspanel"\n    include-pattern: "dnspanel"\n'
        )
        named = "".join(
            f'\nzone:\n    name: "{name.removesuffix(".")}"\n    include-pattern: "dnspanel"\n' for name in zones
        )
        found = [Part(gettext("in nsd.conf (NSD 4.9 or later)"), key + pattern + catalog)]
        if zones:
            older = gettext("in nsd.conf (older NSD without catalog zones)")
            found.append(Part(older, key + pattern + named))
        return found

    def _nsd_tls(self) -> str:
        if self._tls is None:
            return ""
        bundle = f'server:\n    tls-cert-bundle: "{self._place}/{_AUTHORITY}"\n\n' if self._tls.authority else ""
        own = self._own("client-cert", "client-key", '    {}: "{}"\n')
        return f'{bundle}tls-auth:\n    name: "dnspanel"\n    auth-domain-name: "{self._tls.name}"\n{own}\n'

    def powerdns(self) -> list[Part]:
        addresses = " ".join(join_port(host, port) for host, port in self._gateways)
        text = (
            f"pdnsutil import-tsig-key {self._key} {self._algorithm} '{self._secret}'\n"
            f"pdnsutil create-slave-zone {self._catalog} {addresses}\n"
            f"pdnsutil set-kind {self._catalog} consumer\n"
            f"pdnsutil activate-tsig-key {self._catalog} {self._key} slave\n"
        )
        keys = (
            # With -v, pdnsutil also lists zones that were not transferred yet, and prints the number of zones.
            'for zone in $(pdnsutil -v list-all-zones slave | grep -v " "); do\n'
            f'    if pdnsutil show-zone "$zone" | grep -Eqx "(Catalog: )?{self._catalog}"; then\n'
            f'        pdnsutil set-meta "$zone" AXFR-MASTER-TSIG {self._key}\n'
            "    fi\n"
            "done\n"
        )
        return [
            Part(gettext("in pdns.conf"), "secondary=yes\n"),
            Part(gettext("commands for PowerDNS 4.7 or later (5.0 uses secondary instead of slave)"), text),
            # PowerDNS transfers a catalog with its key, but does not set the key for members.
            Part(
                gettext("timer that runs every minute because PowerDNS doesn’t set the key for catalog members"), keys
            ),
        ]

    def other(self) -> list[Part]:
        primaries = "\n".join(f"primary    {host} port {port}" for host, port in self._gateways)
        text = (
            f"{primaries}\nkey        {self._key}.\nalgorithm  {self._algorithm}\nsecret     {self._secret}\n"
            f"catalog    {self._catalog}.\n"
        )
        if self._tls is not None:
            text += f"TLS 1.3    ALPN dot, name {self._tls.name}, pin {self._tls.pin}\n"
        return [Part(gettext("values for the server configuration"), text)]
