"""The URL converter for zone names, which escapes them as PowerDNS escapes its zone ids.

Browsers rewrite `/./`, URLs are split at `/`, and names can contain any byte. Therefore every character except letters,
digits, `.`, `_` and `-` becomes `=HH` (hex of its UTF-8 bytes). The root zone is `=2E`.
"""

import re

from replication.dns import names
from replication.errors import BadName

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_ESCAPED = re.compile(r"=([0-9A-Fa-f]{2})")


class ZoneNameConverter:
    """The converter `<zone:zone_name>`. Views get a canonical absolute name. An invalid name doesn't match (404)."""

    regex = r"[^/]+"

    def to_python(self, value: str) -> str:
        try:
            return names.parse(_unescape(value))
        except BadName as exc:
            raise ValueError(str(exc)) from exc

    def to_url(self, value: str) -> str:
        return "=2E" if value == "." else _UNSAFE.sub(_escape, value)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"={byte:02X}" for byte in match.group().encode())


def _unescape(text: str) -> str:
    """Reverse the escaping of `to_url`. Raise ValueError if the escaped bytes are not UTF-8."""
    if "=" not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), text).encode("latin-1").decode()
