"""Keys as bytes and text, compared with BIND's tools and dnspython."""

import subprocess
from pathlib import Path

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest

from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.key_material import ALGORITHMS, KSK_FLAGS, MADE, ZSK_FLAGS, generate, read
from dnspanel.zones.errors import BadKey

ZONE = "example.test."


def bind_keys(directory: Path, algorithm: int, *, ksk: bool) -> tuple[str, str, str]:
    """Create a key with BIND's tools. Return its DNSKEY, private-key text and DS records."""
    bits = ["-b", "2048"] if algorithm in (5, 7, 8, 10) else []
    command = ["dnssec-keygen", "-q", "-K", str(directory), "-a", ALGORITHMS[algorithm].replace("-SHA1", "SHA1"), *bits]
    if algorithm == 7:
        command[command.index("-a") + 1] = "NSEC3RSASHA1"
    command += ["-f", "KSK"] if ksk else []
    name = subprocess.run([*command, ZONE], capture_output=True, text=True, check=True).stdout.strip()
    path = directory / f"{name}.key"
    command = ["dnssec-dsfromkey", "-2", str(path)]
    ds = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    [record] = [line for line in path.read_text().splitlines() if not line.startswith(";")]
    return record.split("DNSKEY ")[1], (directory / f"{name}.private").read_text(), ds.split("DS ")[1]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_key_of_binds_is_read(tmp_path: Path, algorithm: int) -> None:
    dnskey, private, ds = bind_keys(tmp_path, algorithm, ksk=True)
    pair = read(private)
    of_key = (KSK_FLAGS, algorithm, pair.public)
    assert "".join(dnskey.split()) == "".join(key_material.dnskey_text(*of_key).split())
    assert key_material.ds_text(ZONE, *of_key) == ds.lower().replace(" ", "x").replace("x", " ", 3).replace("x", "")
    assert (tmp_path / f"{key_material.bind_file_name(ZONE, algorithm, key_material.key_tag(*of_key))}.key").exists()


@pytest.mark.parametrize("algorithm", MADE)
def test_a_new_key_signs_what_dnspython_validates(algorithm: int) -> None:
    pair = generate(algorithm)
    again = read(pair.private_text)
    assert again == pair
    text = key_material.dnskey_text(ZSK_FLAGS, algorithm, pair.public)
    key = dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.DNSKEY, text)
    assert dns.dnssec.key_id(key) == key_material.key_tag(ZSK_FLAGS, algorithm, pair.public)  # type: ignore[arg-type]
    assert key.to_wire() == key_material.dnskey_wire(ZSK_FLAGS, algorithm, pair.public)
    for digest, name in key_material.EVERY_DIGEST.items():
        ds = dns.dnssec.make_ds(dns.name.from_text(ZONE), key, name.upper(), validating=True)  # type: ignore[arg-type]
        assert ds.to_text() == key_material.ds_text(ZONE, ZSK_FLAGS, algorithm, pair.public, digest)


def test_sizes_are_those_of_the_algorithm() -> None:
    assert [generate(algorithm).bits for algorithm in MADE] == [256, 256, 384, 456, 2048, 2048]
    assert generate(8, 3072).bits == 3072
    assert generate(13, 256).bits == 256


@pytest.mark.parametrize(
    ("algorithm", "bits"), [(5, None), (7, 2048), (12, None), (8, 1024), (8, 2049), (8, 8192), (13, 384)]
)
def test_keys_that_nobody_should_use_are_not_made(algorithm: int, bits: int | None) -> None:
    with pytest.raises(BadKey):
        generate(algorithm, bits)


GOOD = generate(13).private_text
BAD = {
    "empty": "",
    "no algorithm": GOOD.replace("Algorithm", "Algorthm"),
    "unknown algorithm": GOOD.replace("13 (", "3 ("),
    "another algorithm's": GOOD.replace("13 (ECDSAP256SHA256)", "15 (ED25519)").replace(
        "PrivateKey: ", "PrivateKey: AA"
    ),
    "no key": GOOD.split("PrivateKey")[0],
    "no base64": GOOD.replace("PrivateKey: ", "PrivateKey: !"),
    "zero": "Private-key-format: v1.2\nAlgorithm: 13\nPrivateKey: AAAA\n",
    "an RSA of nothing": "Algorithm: 8 (RSASHA256)\n" + "".join(f"{name}: AA==\n" for name in key_material._RSA_FIELDS),
    "too long": GOOD + "x" * key_material.MOST_TEXT,
    "a giant number": "Algorithm: " + "9" * 5000,
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_key_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(BadKey) as refused:
        read(text)
    assert not any(part in str(refused.value) for part in text.split() if len(part) > 20)


def test_a_private_part_is_not_shown() -> None:
    pair = generate(15)
    secret = pair.private_text.split("PrivateKey: ")[1].strip()
    assert secret not in repr(pair)
