"""The conversion between builder fields and records: `builders.builder_pieces`, `builders.spf`, `builders.dkim`,
`builders.reports`, `builders.authorities`, `builders.lua`, `builders.providers` and `builders.catalogue`.
"""

import base64
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.zones.builders.builder_pieces import build_rrsets, txt
from dnspanel.zones.builders.catalogue import BUILDERS
from dnspanel.zones.builders.dkim import about_key, read_key
from dnspanel.zones.builders.spf import is_spf, terms_of, with_include
from dnspanel.zones.errors import BadFields
from dnspanel.zones.rules.mail_rules import text_of
from dnspanel.zones.rules.rules import check_zone
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.zones.conftest import rr

ZONE = "example.test."
RSA = rsa.generate_private_key(65537, 2048).public_key()


def present_of(*lines: str) -> dict[tuple[str, int], RRset]:
    return {(each.name, each.type): each for each in map(rr, lines)}


def made(key: str, values: dict[str, str], *lines: str) -> dict[str, tuple[str, ...]]:
    """Return the records, by `name type`, that a builder makes for a zone with these lines."""
    builder = BUILDERS[key]
    defaults = {field.name: field.default for field in builder.fields}
    rrsets = build_rrsets(builder, ZONE, defaults | values, present_of(*lines), 3600)
    return {f"{each.name.removesuffix(ZONE) or '@'} {rdata.type_to_text(each.type)}": each.rdata for each in rrsets}


def refused(key: str, values: dict[str, str]) -> dict[str, str]:
    with pytest.raises(BadFields) as caught:
        made(key, values)
    return caught.value.faults


def spki(key: object) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]


# ── SPF ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_spf_is_made_of_fields_beside_other_texts() -> None:
    values = {"mx": "yes", "ip4": "192.0.2.0/24, 198.51.100.1", "include": "_spf.a.test", "all": "-all"}
    found = made("spf", values, '@ 300 TXT "v=spf1 a ~all" | "site-verification=1"')
    assert found == {
        "@ TXT": (
            '"site-verification=1"',
            '"v=spf1 mx ip4:192.0.2.0/24 ip4:198.51.100.1 include:_spf.a.test -all"',
        )
    }


@pytest.mark.parametrize(
    "text",
    [
        "v=spf1 mx a ip4:192.0.2.1 ip6:2001:db8::/32 include:a.test include:b.test ~all",
        "v=spf1 -ip4:192.0.2.1 include:a.test ?all",
        "v=spf1 a:mail.test mx/24 exists:%{i}.a.test redirect=b.test",
        "v=spf1 +all",
        "v=spf1 -all",
    ],
)
def test_a_present_record_is_read_into_fields_that_make_it_again(text: str) -> None:
    present = present_of(f'@ 300 TXT "{text}"')
    values = BUILDERS["spf"].read(ZONE, present)
    [rrset] = build_rrsets(BUILDERS["spf"], ZONE, values, {}, 300)
    assert sorted(text_of(rdtypes.TXT, rrset.rdata[0]).split()) == sorted(text.split())
    if "-ip4" in text:  # order matters
        assert text_of(rdtypes.TXT, rrset.rdata[0]) == text


@given(st.text("v=spf1 +-~?almxinude:./ip46redct=%{}", max_size=40))
def test_any_text_has_terms_and_each_has_a_message(text: str) -> None:
    assert all(term.message.endswith(".") for term in terms_of(f"v=spf1 {text}"))


def test_terms_are_explained() -> None:
    terms = terms_of("v=spf1 include:a.test -mx:b.test ip4:192.0.2.1 redirect=c.test nonsense ~all")
    assert [term.message for term in terms] == [
        "Senders allowed by the SPF record for a.test: allowed to send.",
        "The mail servers of b.test: not allowed to send.",
        "192.0.2.1: allowed to send.",
        "For all other senders, the SPF record for c.test applies.",
        "Unknown term. Receivers treat the record as invalid.",
        "Everyone else: soft fail (probably not allowed to send).",
    ]
    assert [term.looks_up for term in terms] == [True, True, False, True, False, False]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"ip4": "2001:db8::1"}, "ip4"),
        ({"ip6": "192.0.2.1"}, "ip6"),
        ({"include": "nonsense"}, "include"),
        ({"other": "nonsense"}, "other"),
        ({"include": ",".join(f"a{at}.test" for at in range(11))}, "include"),
    ],
)
def test_a_fault_of_spf_is_told_at_its_field(values: dict[str, str], field: str) -> None:
    assert refused("spf", values).keys() == {field}


def test_an_include_goes_before_the_end_and_only_once() -> None:
    assert with_include("", "a.test", "~all") == "v=spf1 include:a.test ~all"
    assert with_include("v=spf1 mx -all", "a.test", "~all") == "v=spf1 mx include:a.test -all"
    assert with_include("v=spf1 include:A.test -all", "a.test", "~all") == "v=spf1 include:A.test -all"
    assert is_spf("V=SPF1 mx")
    assert not is_spf("v=spf10")


# ── DKIM ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_key_is_taken_in_every_form_and_cut_into_strings() -> None:
    der = spki(RSA)
    text = base64.b64encode(der).decode()
    pem = RSA.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    pkcs1 = RSA.public_bytes(Encoding.PEM, PublicFormat.PKCS1).decode()
    record = f"v=DKIM1; k=rsa; p={text}"
    for typed in (text, pem, pkcs1, record, txt(record), f"( {txt(record)} )"):
        found = made("dkim", {"selector": "s1", "public_key": typed})
        [rdata_text] = found["s1._domainkey. TXT"]
        assert text_of(rdtypes.TXT, rdata_text) == record
        assert max(map(len, rdata_text.split('" "'))) <= 257
    assert about_key(pem) == "An RSA key with 2048 bits."
    short = rsa.generate_private_key(65537, 1024).public_key()
    assert "recommends at least 2048 bits" in about_key(base64.b64encode(spki(short)).decode())


def test_ed25519_is_taken_raw_and_as_spki() -> None:
    key = ed25519.Ed25519PrivateKey.generate().public_key()
    raw = base64.b64encode(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    assert read_key(raw) == ("ed25519", raw)
    assert about_key(raw).startswith("An Ed25519 key.")
    assert read_key(base64.b64encode(spki(key)).decode()) == ("ed25519", raw)


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ("not base64!", "Base64"),
        (base64.b64encode(spki(RSA)).decode()[:100], "The key can’t be read because the text is"),
        (
            base64.b64encode(spki(ec.generate_private_key(ec.SECP256R1()).public_key())).decode(),
            "only supports RSA and Ed25519",
        ),
        ("-----BEGIN PRIVATE KEY-----", "This is a private key, which only the mail"),
    ],
    ids=("words", "half", "elliptic", "private"),  # each worker has new keys
)
def test_what_is_no_key_for_dkim_is_refused(typed: str, fault: str) -> None:
    with pytest.raises(BadFields, match=fault):
        read_key(typed)


def test_a_selector_is_a_name() -> None:
    key = base64.b64encode(spki(RSA)).decode()
    assert refused("dkim", {"selector": "a b", "public_key": key}).keys() == {"selector"}
    assert BUILDERS["dkim"].keys(ZONE, {"selector": "a b"}) == []


# ── Policies and reports ──────────────────────────────────────────────────────────────────────────────────────────


def test_dmarc_is_read_and_made() -> None:
    line = '_dmarc 300 TXT "v=DMARC1; p=none; rua=mailto:a@x.test,mailto:b@x.test; pct=50"'
    values = BUILDERS["dmarc"].read(ZONE, present_of(line))
    assert (values["p"], values["rua"], values["pct"]) == ("none", "a@x.test,b@x.test", "50")
    assert made("dmarc", values, line) == {}
    found = made("dmarc", values | {"p": "reject", "sp": "quarantine"}, line)
    assert found["_dmarc. TXT"] == ('"v=DMARC1; p=reject; sp=quarantine; rua=mailto:a@x.test,mailto:b@x.test; pct=50"',)
    assert refused("dmarc", {"rua": "nobody"})["rua"] == "nobody isn’t a valid email address."
    assert refused("dmarc", {"pct": "101"}).keys() == {"pct"}


def test_mta_sts_and_tls_reports_are_made() -> None:
    found = made("mta-sts", {"id": "20261125", "host": "policy.provider.test."})
    assert found == {"_mta-sts. TXT": ('"v=STSv1; id=20261125;"',), "mta-sts. CNAME": ("policy.provider.test.",)}
    assert refused("mta-sts", {"id": "a-b"}).keys() == {"id"}
    found = made("tls-rpt", {"rua": "a@x.test, https://x.test/r"})
    assert found == {"_smtp._tls. TXT": ('"v=TLSRPTv1; rua=mailto:a@x.test,https://x.test/r"',)}


def test_caa_is_one_list_and_other_tags_stay() -> None:
    line = '@ 300 CAA 0 issue "a.test" | 0 issuewild ";" | 0 contactemail "c@x.test" | 0 iodef "mailto:r@x.test"'
    values = BUILDERS["caa"].read(ZONE, present_of(line))
    assert values == {"issue": "a.test", "issuewild": "", "no_wildcards": "yes", "iodef": "r@x.test"}
    assert made("caa", values, line) == {}
    found = made("caa", {"issue": "a.test, b.test"}, line)
    assert set(found["@ CAA"]) == {'0 issue "a.test"', '0 issue "b.test"', '0 contactemail "c@x.test"'}
    assert made("caa", {})["@ CAA"] == ('0 issue ";"',)
    assert refused("caa", {"issue": "nonsense"}).keys() == {"issue"}


# ── Snippets ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_mail_here_says_so_in_every_way() -> None:
    found = made("no-mail", {}, "@ 300 MX 10 mail", '@ 300 TXT "v=spf1 mx -all" | "kept"')
    assert found == {
        "@ MX": ("0 .",),
        "@ TXT": ('"kept"', '"v=spf1 -all"'),
        "_dmarc. TXT": ('"v=DMARC1; p=reject; sp=reject; adkim=s; aspf=s"',),
        "*._domainkey. TXT": ('"v=DKIM1; p="',),
    }


def test_a_provider_keeps_what_is_not_about_mail() -> None:
    found = made("google-workspace", {"token": "abc"}, '@ 300 TXT "v=spf1 mx -all" | "kept"', "@ 300 MX 10 old")
    assert found["@ MX"] == ("1 smtp.google.com.",)
    assert set(found["@ TXT"]) == {
        '"kept"',
        '"google-site-verification=abc"',
        '"v=spf1 mx include:_spf.google.com -all"',
    }
    assert found["_dmarc. TXT"] == ('"v=DMARC1; p=none"',)


def test_a_policy_that_is_there_is_not_weakened() -> None:
    found = made("proton-mail", {}, '_dmarc 300 TXT "v=DMARC1; p=reject"')
    assert found.keys() == {"@ MX", "@ TXT"}


def test_names_of_a_provider_have_the_domain_in_them() -> None:
    found = made("microsoft-365", {"tenant": "contoso"})
    assert found["@ MX"] == ("0 example-test.mail.protection.outlook.com.",)
    assert found["selector1._domainkey. CNAME"] == ("selector1-example-test._domainkey.contoso.onmicrosoft.com.",)
    assert "selector1._domainkey. CNAME" not in made("microsoft-365", {})
    assert made("fastmail", {})["fm2._domainkey. CNAME"] == ("fm2.example.test.dkim.fmhosted.com.",)
    assert refused("microsoft-365", {"tenant": "a b"}).keys() == {"tenant"}


@pytest.mark.parametrize("key", sorted(BUILDERS))
def test_what_a_builder_makes_breaks_no_rule_and_is_made_once(key: str) -> None:
    typed = {"public_key": base64.b64encode(spki(RSA)).decode(), "id": "1", "rua": "r@x.test", "token": "t", "key": "k"}
    typed |= {"template": "port", "addresses": "192.0.2.1"}
    builder = BUILDERS[key]
    values = {field.name: typed.get(field.name, field.default) for field in builder.fields}
    rrsets = build_rrsets(builder, ZONE, values, {}, 3600)
    assert {(each.name, each.type) for each in rrsets} <= set(builder.keys(ZONE, values))
    apex = [rr("@ 300 SOA ns1.x.test. h.x.test. 1 2 3 4 5"), rr("@ 300 NS ns1.x.test. | ns2.x.test.")]
    zone = {(each.name, each.type): each for each in (*apex, *rrsets)}
    violations = check_zone(ZONE, zone, set(zone), allow_lua=True)
    assert [each for each in violations if each.severity == "error"] == []
    present = {(each.name, each.type): each for each in rrsets}
    assert build_rrsets(builder, ZONE, values, present, 60) == []


@pytest.mark.parametrize("key", sorted(BUILDERS))
@given(data=st.data())
def test_whatever_is_typed_makes_records_or_is_refused(key: str, data: st.DataObject) -> None:
    builder = BUILDERS[key]
    text = st.text(st.characters(blacklist_categories=["Cs"]) | st.sampled_from('\\"();=,. @:/-'), max_size=30)
    choices = {field.name: st.sampled_from([field.default, *dict(field.choices)]) | text for field in builder.fields}
    with suppress(BadFields):
        build_rrsets(builder, ZONE, {name: data.draw(each) for name, each in choices.items()}, {}, 3600)


@pytest.mark.parametrize("key", sorted(BUILDERS))
@given(texts=st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40), max_size=3))
def test_whatever_is_present_is_read_into_fields(key: str, texts: list[str]) -> None:
    builder = BUILDERS[key]
    defaults = {field.name: field.default for field in builder.fields} | {"selector": "s"}
    prefixes = ("v=spf1 ", "v=DMARC1;", "v=STSv1;", "v=TLSRPTv1;", "")
    records = [txt(prefix + text) for text in texts for prefix in prefixes] or ['"x"']
    present = {at: make(at[0], rdtypes.TXT, 60, records) for at in builder.keys(ZONE, defaults) if at[1] == rdtypes.TXT}
    values = defaults | builder.read(ZONE, present)
    with suppress(BadFields):
        build_rrsets(builder, ZONE, values, present, 3600)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"template": "port", "port": "25"}, "ifportup(25, {'192.0.2.1', '192.0.2.2'})"),
        ({"template": "url", "url": "https://a.test/up"}, "ifurlup('https://a.test/up', {'192.0.2.1', '192.0.2.2'})"),
        (
            {"template": "failover", "url": "http://a.test/"},
            "ifurlup('http://a.test/', {{'192.0.2.1'}, {'192.0.2.2'}})",
        ),
        ({"template": "random"}, "pickrandom({'192.0.2.1', '192.0.2.2'})"),
        ({"template": "client"}, "pickhashed({'192.0.2.1', '192.0.2.2'})"),
    ],
)
def test_a_template_makes_a_lua_record_and_keeps_those_of_other_types(values: dict[str, str], code: str) -> None:
    values = {"addresses": "192.0.2.1, 192.0.2.2", **values}
    before = '@ 300 LUA AAAA "pickrandom({})"'
    assert set(made("lua", values, before)["@ LUA"]) == {f'A "{code}"', 'AAAA "pickrandom({})"'}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"addresses": "2001:db8::1"}, "addresses"),
        ({"addresses": "192.0.2.1'}) os.exit() --"}, "addresses"),
        ({"addresses": "192.0.2.1", "template": "url", "url": "https://a.test/'}) os.exit() --"}, "url"),
        ({"addresses": "192.0.2.1", "template": "failover"}, "url"),
        ({"addresses": "192.0.2.1", "template": "other"}, "template"),
        ({"addresses": "192.0.2.1", "type": "TXT"}, "type"),
    ],
)
def test_values_of_a_template_cannot_be_code(values: dict[str, str], field: str) -> None:
    with pytest.raises(BadFields) as caught:
        made("lua", {"template": "port", **values})
    assert list(caught.value.faults) == [field]
