"""BIND's two files for a key, in the format that BIND writes."""

from pathlib import Path

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.key_files import flags_of, read_public, told_apart
from dnspanel.zones.dnssec.key_material import ALGORITHMS, KSK_FLAGS, ZSK_FLAGS, dnskey_text, generate
from dnspanel.zones.errors import BadKey, BadPublicKey
from dnspanel.zones.models import Zone, ZoneKey
from dnspanel.zones.signing import sign
from tests.dnspanel.zones.dnssec.test_key_material import bind_keys
from tests.people import NOW

PAIR = generate(13)
KEY = dnskey_text(KSK_FLAGS, 13, PAIR.public)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ksk", [True, False])
def test_the_files_that_bind_makes_are_one_key(tmp_path: Path, algorithm: int, ksk: bool) -> None:
    bind_keys(tmp_path, algorithm, ksk=ksk)
    [key_file], [private_file] = tmp_path.glob("*.key"), tmp_path.glob("*.private")
    private, public = told_apart([key_file.read_text(), private_file.read_text()])
    assert "Activate:" in private  # lines with times are ignored
    assert public is not None
    pair = key_material.read(private)
    assert flags_of(read_public(public), zone_name="example.test.", pair=pair) == (KSK_FLAGS if ksk else ZSK_FLAGS)


@pytest.mark.parametrize(
    "text",
    [
        f"example.test. IN DNSKEY {KEY}",
        f"; a comment\n\nEXAMPLE.test. 3600 in dnskey {KEY} ; another\n",
        f"example.test. IN 3600 DNSKEY 257 3 13 (\n {KEY.split()[3][:20]} ; half\n {KEY.split()[3][20:]} )",
    ],
)
def test_a_record_is_read_however_it_is_written(text: str) -> None:
    assert flags_of(read_public(text), zone_name="example.test.", pair=PAIR) == KSK_FLAGS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be a single DNSKEY record"),
        (PAIR.private_text, "must be a single DNSKEY record"),
        (f"example.test. IN DNSKEY {KEY}\nexample.test. IN DNSKEY {KEY}", "must be a single DNSKEY record"),
        ("example.test. IN DNSKEY 257 3", "DNSKEY record isn’t valid"),
        (f"example.test. CH DNSKEY {KEY}", "DNSKEY record isn’t valid"),
        (f"example.test. IN DNSKEY {KEY.replace('257', '385')}", "flags"),
        (f"example.test. IN DNSKEY {KEY.replace(' 3 ', ' 2 ', 1)}", "protocol"),
        (f"example.test. IN DNSKEY {KEY.replace(' 13 ', ' 3 ')}", "unsupported algorithm"),
        (f"example.test. IN DNSKEY {KEY[:-1]}%", "isn’t valid Base64"),
        (f"a..b. IN DNSKEY {KEY}", "domain name"),
        ("x" * (key_material.MOST_TEXT + 1), "too long"),
    ],
)
def test_what_is_no_record_is_refused(text: str, told: str) -> None:
    with pytest.raises(BadPublicKey, match=told):
        read_public(text)


def test_the_public_part_is_of_this_key_and_zone() -> None:
    public = read_public(f"example.test. IN DNSKEY {KEY}")
    with pytest.raises(BadPublicKey, match=r"belongs to example\.test\., not to other\.test\."):
        flags_of(public, zone_name="other.test.", pair=PAIR)
    with pytest.raises(BadPublicKey, match="match the private key"):
        flags_of(public, zone_name="example.test.", pair=generate(13))


@pytest.mark.parametrize("texts", [[], ["x"], ["x", "y"], [PAIR.private_text] * 2, [PAIR.private_text, "x", "y"]])
def test_files_that_are_no_key_are_refused(texts: list[str]) -> None:
    with pytest.raises(BadKey, match=r"upload the \.private file and the \.key file"):
        told_apart(texts)


@pytest.mark.django_db(transaction=True)
def test_a_key_goes_on_as_what_its_public_file_says(zone: Zone, alice: User) -> None:
    acting = Acting(alice, "web", NOW)
    public = f"{zone.name} IN DNSKEY {dnskey_text(ZSK_FLAGS, 13, PAIR.public)}"
    sign.add_key(zone=zone, acting=acting, texts=sign.KeyTexts(PAIR.private_text, public))
    [key] = queries.keys_of(zone)
    assert (key.flags, key.public) == (ZSK_FLAGS, PAIR.public)
    foreign = public.replace(zone.name, "foreign.test.")
    with pytest.raises(BadPublicKey):
        sign.add_key(zone=zone, acting=acting, texts=sign.KeyTexts(generate(13).private_text, foreign))
    assert ZoneKey.objects.count() == 1
