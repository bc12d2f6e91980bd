"""The TSIG keys of secondaries, used to verify messages from secondaries and to sign messages to them."""

import base64
from datetime import datetime

import dns.name
import dns.tsig

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.secondaries.models import Secondary


def secondary_by_key_name(name: str) -> Secondary | None:
    """Return the secondary whose key has this canonical name, or None if no secondary has this key."""
    return Secondary.objects.filter(tsig_name=name).first()


def key_of(secondary: Secondary) -> dns.tsig.Key:
    """Return the key for signing messages to the secondary."""
    return _key(secondary, secondary.tsig_secret)


def good_keys_of(secondary: Secondary, now: datetime) -> list[dns.tsig.Key]:
    """Return the secondary's valid keys: the current one and, for a time after a rotation, the old one."""
    found = [key_of(secondary)]
    if secondary.old_secret is not None and secondary.old_secret_until is not None and secondary.old_secret_until > now:
        found.append(_key(secondary, secondary.old_secret))
    return found


def _key(secondary: Secondary, encrypted: bytes | memoryview) -> dns.tsig.Key:
    secret = base64.b64decode(decrypt_secret(encrypted))
    return dns.tsig.Key(dns.name.from_text(secondary.tsig_name), secret, dns.name.from_text(secondary.tsig_algorithm))
