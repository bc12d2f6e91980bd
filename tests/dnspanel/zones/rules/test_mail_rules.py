"""Rules for SPF, DMARC and DKIM in TXT records."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dnspanel.zones.rules.mail_rules import check_txt, spf_lookups, text_of
from tests.dnspanel.zones.conftest import rr


@pytest.mark.parametrize(
    ("text", "lookups"),
    [
        ("v=spf1 -all", 0),
        ("v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all", 0),
        ("v=spf1 a mx include:_spf.example.net -all", 3),
        ("v=spf1 a:host.example.net/24 +mx/24 ?exists:%{i}.example.net ptr redirect=example.net", 5),
        ("v=spf1 all exp=why.example.net", 0),
    ],
)
def test_lookups_are_counted_as_rfc_7208_does(text: str, lookups: int) -> None:
    assert spf_lookups(text) == lookups


def test_more_than_ten_lookups_are_warned_of() -> None:
    includes = " ".join(f"include:s{i}.example.net" for i in range(11))
    assert [code for _, code, _ in check_txt(rr(f'@ 300 TXT "v=spf1 {includes} -all"'))] == ["spf-lookups"]


def test_strings_of_one_record_are_read_as_one_text() -> None:
    record = rr('@ 300 TXT "v=spf1 " "-all"')
    assert text_of(record.type, record.rdata[0]) == "v=spf1 -all"


def test_a_disabled_second_spf_record_does_no_harm() -> None:
    record = rr('@ 300 TXT "v=spf1 -all" | "v=spf1 mx -all"', disabled=('"v=spf1 mx -all"',))
    assert list(check_txt(record)) == []


def test_dmarc_needs_a_policy_and_should_ask_for_reports() -> None:
    assert [code for _, code, _ in check_txt(rr('_dmarc 300 TXT "v=DMARC1"'))] == ["dmarc-policy", "dmarc-rua"]
    two = rr('_dmarc 300 TXT "v=DMARC1; p=none; rua=mailto:a@b.test" | "v=DMARC1; p=reject; rua=mailto:a@b.test"')
    assert [code for _, code, _ in check_txt(two)] == ["dmarc-duplicate"]


def dkim(key: object, *, kind: str = "rsa") -> str:
    """Return a DKIM record with this public key, in strings of 255 characters."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    text = f"v=DKIM1; k={kind}; p={base64.b64encode(der).decode()}"
    strings = " ".join(f'"{text[at : at + 255]}"' for at in range(0, len(text), 255))
    return f"s1._domainkey 300 TXT {strings}"


@pytest.mark.parametrize(("bits", "codes"), [(1024, ["dkim-short"]), (2048, [])])
def test_the_key_of_a_dkim_record_is_read_and_measured(bits: int, codes: list[str]) -> None:
    record = rr(dkim(rsa.generate_private_key(65537, bits).public_key()))
    assert [code for _, code, _ in check_txt(record)] == codes


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('"v=DKIM1; p="', ["dkim-revoked"]),
        ('"v=DKIM1; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIB"', ["dkim-key"]),
        ('"v=DKIM1; p=not base64!"', ["dkim-key"]),
        ('"v=DKIM2; p=AAAA"', ["dkim-malformed"]),
        ('"some text"', ["dkim-malformed"]),
        ('"v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="', []),
        ('"v=DKIM1; k=ed25519; p=11qY"', ["dkim-key"]),
        ('"v=DKIM1; p=" | "v=DKIM1; p="', ["dkim-revoked"]),
        ('"v=DKIM1; p=" | "p="', ["dkim-duplicate", "dkim-revoked", "dkim-revoked"]),
    ],
)
def test_dkim_records_are_told_what_receivers_do_not_take(text: str, codes: list[str]) -> None:
    assert [code for _, code, _ in check_txt(rr(f"s1._domainkey 300 TXT {text}"))] == codes


def test_a_key_of_another_algorithm_than_it_says_is_found() -> None:
    record = rr(dkim(ec.generate_private_key(ec.SECP256R1()).public_key()))
    assert [code for _, code, _ in check_txt(record)] == ["dkim-key"]
