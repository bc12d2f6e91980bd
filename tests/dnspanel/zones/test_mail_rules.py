"""SPF and DMARC in TXT."""

import pytest

from dnspanel.zones.mail_rules import check_txt, spf_lookups, text_of
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
