"""Find names that are probably mistakes: with an @, or as the primary or the mailbox in an SOA. Pure.

All these names are valid. They stay unchanged, as in BIND.
"""

from collections.abc import Callable, Iterator

from dnspanel.small_cache import small_cache
from dnspanel.texts import gettext
from dnspanel.zones.rules.value_rules import Finding, is_host, looks_like_address
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset

SOA_PRIMARY, SOA_MAILBOX = "soa-primary", "soa-mailbox"
SOA_CODES = (SOA_PRIMARY, SOA_MAILBOX)  # in the order of the fields
AT_SIGN = "at-in-name"
_NO_ZONE = "\0"  # no name is below it
# A name with at least this number of labels below the zone was probably meant for another zone.
_LABELS_OF_OTHERS = 2
# Types whose first name is a mailbox.
MAILBOXES = frozenset((rdtypes.RP, rdtypes.MINFO, rdtypes.MB, rdtypes.MG, rdtypes.MR))


def check_at_signs(rrset: RRset, zone: str) -> Iterator[Finding]:
    """Yield warnings about names that contain an @, except in an SOA's rdata. Only a single @ means the zone itself."""
    if "\\@" not in "".join((rrset.name, *rrset.rdata)):  # almost always
        return
    if "\\@" in rrset.name and has_at_sign(rrset.name, zone):
        yield "warning", AT_SIGN, _about_at_sign(rrset.name)
    if rrset.type == rdtypes.SOA:
        return
    for text in rrset.served:
        if "\\@" in text:
            for name in names_with_at_sign(rrset.type, text, zone):
                yield "warning", AT_SIGN, _about_at_sign(name)


def names_with_at_sign(type: int, text: str, zone: str) -> Iterator[str]:
    """Yield the names in canonical rdata with an @ that is probably a mistake."""
    for word in text.split(" "):
        if "\\@" in word and word[0] != '"' and has_at_sign(word, zone, is_mailbox=type in MAILBOXES):
            yield word


def has_at_sign(name: str, zone: str, *, is_mailbox: bool = False) -> bool:
    """Return True if a name contains an @ that is probably a mistake.

    DNS-SD instance names are allowed to look like an email address: `ana@desk._presence._tcp`.
    """
    try:
        labels = names.labels(name)
    except ValueError:
        return False
    if b"@" in labels:
        return True
    for at, label in enumerate(labels):
        if b"@" in label:
            return is_mailbox or not any(each.startswith(b"_") for each in labels[at + 1 :])
    return False


def _about_at_sign(name: str) -> str:
    return gettext("{name} contains an @, but only a single @ by itself stands for the zone").format(name=name)


def names_of_soa(text: str) -> tuple[str, str]:
    """Return the primary and the mailbox of a canonical SOA, in lowercase."""
    primary, mailbox, _ = text.split(" ", 2)
    return primary.lower(), mailbox.lower()


def is_doubtful_soa(text: str, zone: str) -> bool:
    """Return True if `check_soa` may have findings about an SOA. This test is fast, because every zone has an SOA."""
    primary, mailbox = names_of_soa(text)
    at = f".{zone}"
    if not primary.endswith(at) and not mailbox.endswith(at) and _are_plain(primary, mailbox):
        return False
    return any(True for _ in _findings(text, zone, lambda name: False))


@small_cache(entries=4096, longest=512)
def _are_plain(primary: str, mailbox: str) -> bool:
    """Return True if `check_soa` has no findings for a primary and a mailbox that are both outside the zone. Cached."""
    return not any(True for _ in _findings(f"{primary} {mailbox} ", _NO_ZONE, lambda name: True))


def check_soa(rrset: RRset, zone: str, exists: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield warnings about an SOA's primary or mailbox that is invalid (RFC 1035 3.3.13) or may lack a trailing dot.

    `exists` is called with a name below the zone, and returns True if any zone answers for that name.
    """
    for text in rrset.served:
        yield from _findings(text, zone, exists)


def _findings(text: str, zone: str, exists: Callable[[str], bool]) -> Iterator[Finding]:
    primary, mailbox = names_of_soa(text)
    if primary != names.ROOT:
        if _looks_like_address(primary, zone):
            message = gettext("the SOA primary {name} looks like an IP address; enter a host name instead")
            yield "warning", SOA_PRIMARY, message.format(name=primary)
        elif not is_host(primary):
            message = gettext("the SOA primary {name} isn’t a valid host name")
            yield "warning", SOA_PRIMARY, message.format(name=primary)
        elif _is_foreign(primary, zone) and not exists(primary):
            message = gettext("the SOA primary {name} does not exist; a trailing dot might be missing")
            yield "warning", SOA_PRIMARY, message.format(name=primary)
    domain = names.parent(mailbox) or names.ROOT
    if domain == names.ROOT and "\\@" not in mailbox:
        return
    if "\\@" in mailbox:
        message = gettext(
            "the SOA mailbox {name} contains an @; use a dot instead, for example hostmaster.example.net."
        )
        yield "warning", SOA_MAILBOX, message.format(name=mailbox)
    elif _looks_like_address(domain, zone) or not is_host(domain):
        message = gettext("the SOA mailbox {name} isn’t valid because {domain} isn’t a valid host name")
        yield "warning", SOA_MAILBOX, message.format(name=mailbox, domain=domain)
    elif _is_foreign(domain, zone) and not exists(domain):
        message = gettext("the SOA mailbox domain {domain} does not exist; a trailing dot might be missing")
        yield "warning", SOA_MAILBOX, message.format(domain=domain)


def soa_names_within(rrset: RRset, zone: str) -> set[str]:
    """Return the names below the zone that `check_soa` can pass to `exists` for this SOA."""
    pairs = [names_of_soa(text) for text in rrset.served]
    found = {name for primary, mailbox in pairs for name in (primary, names.parent(mailbox) or names.ROOT)}
    return {name for name in found if _is_foreign(name, zone)}


def _looks_like_address(name: str, zone: str) -> bool:
    """Return True if a name looks like an IP address, or like an IP address followed by the zone's name."""
    below = _without(name, zone)
    return looks_like_address(name) if below == name else below.replace(".", "").isdigit() and below.count(".") == 3


def _is_foreign(name: str, zone: str) -> bool:
    """Return True if a name below the zone looks like a name of another zone."""
    below = _without(name, zone)
    return below != name and below.count(".") >= _LABELS_OF_OTHERS - 1


def _without(name: str, zone: str) -> str:
    """Return a name without the zone's name and the dot before it, or the name itself if it isn't below the zone."""
    end = f".{zone}" if zone != names.ROOT else "\0"
    return name.removesuffix(end) if name.endswith(end) else name


def mailbox_text(text: str) -> str:
    r"""Convert an email address to a DNS name: `host\.master.example.net.` (RFC 1035 8). Text without an @ stays."""
    local, at, domain = text.strip().removeprefix("mailto:").strip("<>").replace("\\@", "@").partition("@")
    if not at:
        return text
    local = local.replace("\\.", ".").replace(".", "\\.")
    end = "." if "." in domain.rstrip(".") else ""
    return f"{local}.{domain.rstrip('.')}{end}" if domain else local


def mailbox_name(text: str) -> str:
    """Parse a mailbox, which can be an email address. Return its DNS name. Raise BadName if the name is invalid."""
    return names.parse(mailbox_text(text))
