"""Computed record data: TLSA compared with openssl, and SSHFP compared with ssh-keygen."""

import warnings
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.utils import CryptographyDeprecationWarning
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.computed import (
    certificate_for,
    certificates_of,
    hints_of,
    read_certificate,
    sshfp_of,
    tlsa_of,
)

PEM = """-----BEGIN CERTIFICATE-----
MIIBizCCATGgAwIBAgIUDUXqwtCTTk5A+HME4oXd0pwHA+swCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQd3d3LmV4YW1wbGUudGVzdDAeFw0yNjExMjUwODI1MDNaFw0z
NjExMjIwODI1MDNaMBsxGTAXBgNVBAMMEHd3dy5leGFtcGxlLnRlc3QwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATmAAZB6hkCAR5HuRsw8CIYD3ql2W8idajocw5h
6M0WjZWjfJlD3iBYP+L3j875IIqVQvGErhAo5/Xi8EWS85PTo1MwUTAdBgNVHQ4E
FgQUkgH+rhH40LtVj47tIZnxXdkoQfcwHwYDVR0jBBgwFoAUkgH+rhH40LtVj47t
IZnxXdkoQfcwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiB94yP0
mZr/FYQTAfKX65GGo8+f0iSM22I/I88rTRmR/wIhALWr9z+SAYXW5zgqtOn9aZg/
N0PX4wF61fDfWjsZ1FQ0
-----END CERTIFICATE-----
"""
# The object identifiers of EC keys and of something else.
EC_KEY, NO_KEY = bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06072a8648ce3d0277")
ECDSA = (
    "ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBEkDWCdz"
    "88OYjrB0xdnWVhAAjxcUG3LDW3LjiCtLFbxEDVBEznhoupLStRImCL4vb9uPL8ljgoIVVMg1lqdmDYuL"
    "yUbPTs2FcNXLfGl7RdWvA3EnC8k6Cra1mvW59u1jZA=="
)
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJP2ISS4aCFi7ZupPJthYgc4HLbJJy7NXRf5yyBKzbd"


@pytest.mark.parametrize(
    ("selector", "matching", "data"),
    [
        ("0", "1", "0c75e335af924449449ee42c05d4f84c84262abe68870cf3664df031d5a40dbb"),
        ("1", "1", "181aa5daf091f51493fe569947c93a4e3fbea8c2fd4b0aaf2ed767ddcab76c63"),
        (
            "0",
            "2",
            "d7beca90b4f720c2a03c7ad9ef32bead9d3e082f625239c66114c803f704b3ab"
            "7b3c58b23198a8e9132fcb3faf3f0dda28740c5583b8f45ea963780b0a3b965f",
        ),
        (
            "1",
            "0",
            "3059301306072a8648ce3d020106082a8648ce3d03010703420004e6000641ea1902011e47b91b30f022180f7aa5d96f"
            "2275a8e8730e61e8cd168d95a37c9943de20583fe2f78fcef9208a9542f184ae1028e7f5e2f04592f393d3",
        ),
    ],
)
def test_tlsa_is_what_openssl_computes(selector: str, matching: str, data: str) -> None:
    [certificate] = certificates_of(f"some text before\n{PEM}and after")
    fields = tlsa_of(certificate, usage="3", selector=selector, matching=matching)
    assert fields == {"usage": "3", "selector": selector, "matching": matching, "certificate": data}


def test_an_authority_is_the_last_of_a_chain() -> None:
    chain = certificates_of(PEM + PEM)
    assert certificate_for("3", chain) is chain[0]
    assert certificate_for("2", chain) is chain[1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Paste a certificate in PEM format"),
        (PEM.replace("MIIB", "MIIC"), "damaged or incomplete"),
        (PEM + "-----BEGIN PRIVATE KEY-----", "private key"),
        ("x" * 200_001, "at most 200000"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, fault: str) -> None:
    with pytest.raises(BadFields, match=fault):
        certificates_of(text)


def test_a_key_that_nobody_knows_has_no_selector_1_and_is_no_error_of_the_server() -> None:
    unknown = read_certificate(certificates_of(PEM)[0].public_bytes(Encoding.DER).replace(EC_KEY, NO_KEY))
    with pytest.raises(BadFields, match="unsupported type"):
        tlsa_of(unknown, usage="3", selector="1", matching="1")
    assert len(tlsa_of(unknown, usage="3", selector="0", matching="1")["certificate"]) == 64
    with pytest.raises(BadFields, match="valid selector and matching type"):
        tlsa_of(unknown, usage="3", selector="7", matching="1")


@given(st.binary(max_size=60), st.integers(0, 300))
def test_bytes_are_a_certificate_or_refused(more: bytes, at: int) -> None:
    der = certificates_of(PEM)[0].public_bytes(Encoding.DER)
    with suppress(BadFields), warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)  # about curves that later releases will refuse
        tlsa_of(read_certificate(der[:at] + more + der[at + len(more) :]), usage="3", selector="1", matching="1")


def test_sshfp_is_what_ssh_keygen_prints() -> None:
    found = sshfp_of(f"# scanned\nhost.test {ED25519} root@host\n{ECDSA}\n{ED25519}", with_sha1=True)
    assert [" ".join(fields.values()) for fields in found] == [
        "4 1 fee36f3a3e45ac66022297e27907535b7349480a",
        "4 2 4bd9dd4c57dbae051c3233f730e467eb272ce065f10f93b5769a62037beb5356",
        "3 1 563143fd7f3ba546486fa14ed91f9f742e1e0bbe",
        "3 2 85b42c9f1c5a5bca9368710a8c0293f4895fcc897f91db26009e0fbbb57de0c1",
    ]
    assert [fields["fingerprint_type"] for fields in sshfp_of(ED25519)] == ["2"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Paste 1 to 20 public keys"),
        ("ssh-foo AAAA", "Line 1 doesn’t contain a public key"),
        ("ssh-ed25519", "Line 1 doesn’t contain a public key"),
        ("ssh-ed25519 ***", "isn’t valid Base64"),
        ("ssh-ed25519 ÄÖ", "isn’t valid Base64"),
        (ED25519[:-8], "damaged or incomplete"),
        (ED25519.replace("ssh-ed25519", "ssh-rsa"), "damaged or incomplete"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
    ],
)
def test_what_is_no_public_key_is_refused(text: str, fault: str) -> None:
    with pytest.raises(BadFields, match=fault):
        sshfp_of(text)


def test_hints_are_lists() -> None:
    assert hints_of(["192.0.2.1", "192.0.2.2"], []) == {"ipv4hint": "192.0.2.1,192.0.2.2", "ipv6hint": ""}
