"""TTLs of zones that another signer signed."""

from replication.dns import rdata, rdtypes
from replication.dns.signed_ttls import SignedTtls, ttl_of_signature

END = "20300101000000 20200101000000 1 example.test. AAAA"


def test_a_signature_says_its_ttl() -> None:
    text = f"A 13 3 4000 {END}"
    assert ttl_of_signature(text) == 4000
    assert SignedTtls([]).ttl_of("a.test.", rdtypes.RRSIG, 0, rdata.to_wire(rdtypes.RRSIG, text)) == 4000


def test_what_powerdns_makes_has_the_ttl_of_its_signature() -> None:
    ttls = SignedTtls(
        [
            ("example.test.", [f"NSEC 13 2 300 {END}", f"NSEC3PARAM 13 2 0 {END}", f"SOA 13 2 7200 {END}"]),
            ("a.example.test.", [f"NSEC 13 3 300 {END}"]),
            ("B.example.test.", [f"NSEC 13 3 60 {END}"]),
        ]
    )
    assert ttls.ttl_of("example.test.", rdtypes.NSEC3PARAM, 300, b"") == 0
    assert ttls.ttl_of("a.example.test.", rdtypes.NSEC, 900, b"") == 300
    assert ttls.ttl_of("b.example.test.", rdtypes.NSEC, 900, b"") == 60
    assert ttls.ttl_of("a.example.test.", rdtypes.NSEC3, 900, b"") == 900
    assert ttls.ttl_of("a.example.test.", rdtypes.A, 5, b"") == 5
