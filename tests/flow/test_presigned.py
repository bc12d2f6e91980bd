"""A presigned zone is imported with its signatures, and all nodes serve it unchanged."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.validator import Validator
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
    """Create a directory that the stack's user can read."""
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


CHAINS = (
    (),
    ("-3", "-", "-H", "0"),
    ("-3", "abcd", "-H", "1"),
    ("-3", "-", "-H", "0", "-A"),
    ("-3", "-", "-H", "0"),
    (),
    ("-3", "ef", "-H", "0"),
)
CHAIN_ZONE = "chains.test."


def test_no_answer_is_bogus_while_successors_bring_other_chains(
    stack: Stack, tmp_path: Path, open_folder: Path
) -> None:
    """Between two chains a node answers SERVFAIL if a proof is needed, but never with a wrong proof."""
    path = open_folder / f"{CHAIN_ZONE}zone"

    def import_zone(serial: int, options: tuple[str, ...]) -> None:
        more = "".join(f"n{number} A 192.0.2.{number}\n" for number in range(1, 100))
        text = (TEXT % (serial, "192.0.2.1")).replace(ZONE, CHAIN_ZONE) + more
        path.write_text(signed_text(CHAIN_ZONE, text, tmp_path, *options))
        stack.manage("import", str(path), "--signatures", "keep", "--existing", "replace", "--yes")
        wait_until_in_sync(stack)

    import_zone(1, CHAINS[-1])
    [dnskey] = {" ".join(text.split()) for text in ask(stack.nodes[0], CHAIN_ZONE, "DNSKEY").rdata}
    names = [f"{label}.{CHAIN_ZONE}" for label in ("www", "n1", "n50", "x.wild", "nothing", "deep.empty", "empty")]
    ports = [node.dns_port for node in stack.nodes]
    with (
        unbound({CHAIN_ZONE: ports}, [f"{CHAIN_ZONE} DNSKEY {dnskey}"]) as resolver,
        Validator(stack.nodes, CHAIN_ZONE, [dnskey], names) as validator,
    ):
        for serial, options in enumerate(CHAINS, 2):
            import_zone(serial, options)
            reply = resolver.ask(f"absent{serial}.{CHAIN_ZONE}", "A")
            assert reply.rcode == "NXDOMAIN"
            assert reply.is_secure == ("-A" not in options)  # with opt-out, no proof covers a nonexistent name
        assert resolver.bogus == []
    bogus = [fault for fault in validator.faults if not fault.endswith(": SERVFAIL")]
    assert bogus == []
    assert validator.questions > 1000
