"""Parse the installed dnsdist's version and build features from its own output. Pure."""

import re
from dataclasses import dataclass

from replication.errors import BadBytes

_VERSION = re.compile(r"^dnsdist (\d{1,4})\.(\d{1,4})(\.\d{1,4})?", re.MULTILINE)
_FEATURES = re.compile(r"^(?:Enabled )?[Ff]eatures: (.*)$", re.MULTILINE)
_PARENTHESES = re.compile(r"\([^()]{0,80}\)")

DOT, DOH, DOQ, DOH3 = "dns-over-tls", "dns-over-https", "dns-over-quic", "dns-over-http3"
YAML, AF_XDP = "yaml", "AF_XDP"
# From this release on, dnsdist's own documentation uses YAML first.
_FIRST_WITH_YAML = (2, 0)
# From this release on, TCP threads apply rules up to two seconds late (`tcpClientThread` of 2.1).
_FIRST_LATE_OVER_TCP = (2, 0)


@dataclass(frozen=True, slots=True)
class Release:
    version: str  # "1.7.3"
    features: frozenset[str]  # dnsdist's names of features, without the parentheses after them

    @property
    def numbers(self) -> tuple[int, int]:
        """The major and minor version as numbers, for comparisons."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def reads_yaml(self) -> bool:
        """True if the configuration is written as YAML. Otherwise it is Lua, which all releases can read."""
        return self.numbers >= _FIRST_WITH_YAML and YAML in self.features

    @property
    def is_late_over_tcp(self) -> bool:
        """True if rule changes in a running dnsdist can take effect late for queries over TCP."""
        return self.numbers >= _FIRST_LATE_OVER_TCP


def parse_release(text: str) -> Release:
    """Parse the output of `dnsdist --version`. Raise BadBytes if it lacks the version or the features."""
    version, features = _VERSION.search(text), _FEATURES.search(text)
    if version is None or features is None:
        raise BadBytes(what="what dnsdist says of its version", reason=repr(text[:200]))
    words = frozenset(_PARENTHESES.sub("", features[1]).split())
    return Release(version[0].removeprefix("dnsdist "), words)
