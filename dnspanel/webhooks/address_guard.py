"""Check that webhooks go only to public addresses over HTTPS, unless the operator allows other networks or HTTP.

Because users choose the URL, only this module parses it. `dnspanel.outbound` resolves the host and checks every
address. The connection is made to one of the checked addresses.
"""

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from dnspanel import outbound
from dnspanel.outbound import Resolve as Resolve
from dnspanel.texts import gettext
from dnspanel.webhooks.errors import AddressRefused, NoAnswer

LONGEST_URL = 2000
_PORTS = {"https": 443, "http": 80}
# Below this port, only the ports of HTTP are allowed, so that webhooks can't reach mail, SSH or DNS servers.
_FIRST_FREE_PORT = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a URL that a request needs."""

    scheme: str
    host: str  # lower case, for name resolution and for the check of the certificate
    port: int
    path: str  # includes the query

    @property
    def host_header(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_target(url: str) -> Target:
    """Split a webhook's URL into its parts. Raise AddressRefused, with the reason, if a part isn't allowed.

    HTTPS is required unless the operator allows HTTP. Credentials, fragments and most ports below 1024 are refused.
    """
    if len(url) > LONGEST_URL:
        raise AddressRefused(
            gettext("The URL can have at most {longest_url} characters.").format(longest_url=LONGEST_URL)
        )
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in url) or "\\" in url:
        raise AddressRefused(gettext("The URL can’t contain spaces, control characters or backslashes."))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise AddressRefused(gettext("This URL isn’t valid: {exc}.").format(exc=exc)) from exc
    scheme = _scheme(parts)
    if parts.username is not None or parts.password is not None:
        raise AddressRefused(
            gettext(
                "The URL can’t contain a user name or password. To identify the sender, check the signature instead."
            )
        )
    if parts.fragment:
        raise AddressRefused(gettext("Remove the fragment (#…) from the URL. Fragments are never sent to servers."))
    port = _PORTS[scheme] if port is None else port
    if port not in _PORTS.values() and port < _FIRST_FREE_PORT:
        raise AddressRefused(
            gettext("Port {port} isn’t allowed. Use port 443, or a port from {first_free_port} up.").format(
                port=port, first_free_port=_FIRST_FREE_PORT
            )
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii():
        raise AddressRefused(gettext("Percent-encode all non-ASCII characters in the path (%XX)."))
    return Target(scheme, _host(parts.hostname or ""), port, path)


def checked_addresses(
    target: Target, *, resolve: Resolve | None = None, networks: str = "OUTBOUND_NETWORKS"
) -> list[str]:
    """Return the addresses of the target's host. `networks` names the setting with allowed private networks.

    Raise AddressRefused if an address isn't allowed, and NoAnswer if the host has no address.
    """
    try:
        return outbound.allowed_addresses(target.host, target.port, getattr(settings, networks), resolve=resolve)
    except outbound.NotReachable as exc:
        # A host can get an address later. Both messages are the same, so that users can't probe internal names.
        refusal = AddressRefused if isinstance(exc, outbound.NotAllowed) else NoAnswer
        raise refusal(
            gettext("{exc} The operator can allow networks in PANEL_{networks}.").format(exc=exc, networks=networks)
        ) from exc


def _scheme(parts: SplitResult) -> str:
    if parts.scheme == "https" or (parts.scheme == "http" and settings.OUTBOUND_HTTP):
        return parts.scheme
    if parts.scheme == "http":
        raise AddressRefused(gettext("Use an https URL. Over http, other people on the network could read the data."))
    raise AddressRefused(gettext("The URL must start with https://"))


def _host(host: str) -> str:
    """Return the canonical form of the host. Raise AddressRefused if it is invalid."""
    try:
        return outbound.canonical_host(host)
    except outbound.BadHost as exc:
        raise AddressRefused(str(exc) if host else gettext("The URL doesn’t contain a host.")) from exc
