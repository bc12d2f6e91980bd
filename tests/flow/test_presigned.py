"""A zone that somebody else signed is imported with its signatures, and every node serves it as it is."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from tests.signzone import signed_text
from tests.stack import ask, wait_until_in_sync
from tests.unbound import unbound

pytestmark = pytest.mark.flow

ZONE = "elsewhere.test."
TEXT = f"""$ORIGIN {ZONE}
$TTL 2
@ SOA ns1.{ZONE} hostmaster.{ZONE} %d 10800 3600 604800 2
@ NS ns1
ns1 A 192.0.2.53
www A %s
alias CNAME www
*.wild TXT "wild"
deep.empty A 192.0.2.7
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that the user of the stack can read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_every_node_serves_the_signatures_that_a_zone_came_with(
    stack: Stack, tmp_path: Path, open_folder: Path
) -> None:
    for serial, address, options in (
        (2026112501, "192.0.2.1", ("-3", "-", "-H", "0")),
        (2026112502, "192.0.2.2", ("-3", "-", "-H", "0")),
    ):
        path = open_folder / f"{ZONE}zone"
        path.write_text(signed_text(ZONE, TEXT % (serial, address), tmp_path, *options))
        stack.manage("import", str(path), "--signatures", "keep", "--existing", "replace", "--yes")
        wait_until_in_sync(stack)
        dnskeys = {" ".join(text.split()) for node in stack.nodes for text in ask(node, ZONE, "DNSKEY").rdata}
        assert len(dnskeys) == 1
        for node in stack.nodes:
            assert ask(node, ZONE, "SOA").rdata[0].split()[2] == str(serial)
            with unbound({ZONE: [node.dns_port]}, [f"{ZONE} DNSKEY {next(iter(dnskeys))}"]) as resolver:
                for name, type in (("www.", "A"), ("alias.", "A"), ("x.wild.", "TXT"), ("", "SOA"), ("www.", "MX")):
                    assert resolver.ask(name + ZONE, type).is_secure, (name, type, resolver.bogus)
                for name in ("nothing.", "empty.", "a.b."):
                    assert resolver.ask(name + ZONE, "A").is_secure, (name, resolver.bogus)
                assert resolver.bogus == []
            assert ask(node, f"www.{ZONE}", "A").rdata == (address,)
