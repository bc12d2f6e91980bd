"""The output of `dnsdist --version`. `test_releases` reads the output of the installed and newer programs."""

import pytest

from replication.errors import BadBytes
from replication.front.release import DOQ, Release, parse_release

OLD = """dnsdist 1.7.3 (Lua 5.1.4 [LuaJIT 2.1.0-beta3])
Enabled features: cdb dns-over-tls(openssl) dns-over-https(DOH) dnscrypt ebpf recvmmsg/sendmmsg
"""
NEW = """dnsdist 2.1.3 (Lua 5.1.4 [LuaJIT 2.1.1761786044])
Enabled features: AF_XDP cdb dns-over-tls(gnutls openssl) dns-over-https(nghttp2) yaml
"""


def test_a_release_says_what_it_was_built_with() -> None:
    old, new = parse_release(OLD), parse_release(NEW)
    assert (old.version, old.numbers, old.reads_yaml) == ("1.7.3", (1, 7), False)
    assert (new.version, new.numbers, new.reads_yaml) == ("2.1.3", (2, 1), True)
    assert new.features == {"AF_XDP", "cdb", "dns-over-tls", "dns-over-https", "yaml"}
    assert DOQ not in new.features
    assert (old.is_late_over_tcp, new.is_late_over_tcp) == (False, True)


def test_lua_is_for_those_without_yaml() -> None:
    assert not Release("2.1.3", frozenset(("cdb",))).reads_yaml
    assert not Release("1.9.16", frozenset(("yaml",))).reads_yaml
    assert Release("10.0", frozenset(("yaml",))).reads_yaml


@pytest.mark.parametrize("text", ["", "dnsdist\n", "PowerDNS 4.7.3\nEnabled features: a\n", "dnsdist 1.7.3\n"])
def test_what_is_no_dnsdist_is_refused(text: str) -> None:
    with pytest.raises(BadBytes, match="dnsdist"):
        parse_release(text)
