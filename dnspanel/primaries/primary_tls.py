"""TLS settings for connections to primaries (RFC 9103), and the expected identity of each primary.

Either all primaries of a zone use TLS, or none of them does. If only some did, an attacker could block those, and the
panel would transfer the zone from another primary in clear text.
"""

from collections.abc import Collection
from datetime import datetime

from dnspanel import outbound
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.pasted_certificates import certificates_in, pem_of
from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext
from dnspanel.transfer.sources.over_dns.dns_over_tls import TlsPeer
from replication.wire.protocol import split_resolver

PORT, TLS_PORT = 53, 853
MOST_CERTIFICATES = 8
LONGEST_PEM = 64_000  # characters


def place_of(row: TransferredZone, address: str) -> tuple[str, int]:
    """Return the host and port of one of the zone's primaries. The default port is 53, or 853 over TLS."""
    return split_resolver(address, TLS_PORT if row.uses_tls else PORT)


def peer_for(row: TransferredZone, number: int, *, now: datetime) -> TlsPeer | None:
    """Return the identity that the primary at this index must prove, and the panel's own, or None without TLS."""
    if not row.uses_tls:
        return None
    names = row.tls_names or [""]
    own = b""
    if row.shows_certificate:
        authority = ensure_authority(now=now)
        own = authority.client_pem.encode() + decrypt_secret(authority.client_key_encrypted)
    return TlsPeer(names[number] if len(names) > 1 else names[0], row.tls_certificates, own)


def own_authority(row: TransferredZone, *, now: datetime) -> str:
    """Return the CA certificate (PEM) for verifying the panel's client certificate, or "" if none is presented."""
    return ensure_authority(now=now).ca_pem if row.uses_tls and row.shows_certificate else ""


def checked_names(texts: Collection[str], primaries: int, faults: dict[str, list[str]]) -> list[str]:
    """Return the primaries' names in canonical form. Add errors to `faults` for invalid names or a wrong count."""
    found = []
    for text in texts:
        try:
            found.append(outbound.canonical_host(text.strip()))
        except outbound.BadHost as exc:
            faults.setdefault("tls_names", []).append(str(exc))
    if len(found) > 1 and len(found) != primaries:
        faults.setdefault("tls_names", []).append(
            gettext("Enter one name for all primaries, or one name per primary in the same order.")
        )
    return found


def checked_certificates(text: str, faults: dict[str, list[str]]) -> str:
    """Return the certificates in PEM. Add an error to `faults` if they are invalid, or if there are too many."""
    if len(text) > LONGEST_PEM:
        faults["tls_certificates"] = [gettext("Enter at most {longest:,} characters.").format(longest=LONGEST_PEM)]
        return ""
    try:
        found = certificates_in(
            text, beside_key=gettext("Enter only the certificate. The private key must stay on the server.")
        )
    except ValueError as exc:
        faults["tls_certificates"] = [str(exc)]
        return ""
    if len(found) > MOST_CERTIFICATES:
        faults["tls_certificates"] = [gettext("Enter at most {most} certificates.").format(most=MOST_CERTIFICATES)]
    return pem_of(found)
