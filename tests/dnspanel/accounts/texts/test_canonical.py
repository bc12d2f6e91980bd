"""Tests of canonical spellings of addresses, domains and user names."""

import pytest

from dnspanel.accounts.texts.canonical import ascii_lower, canonical_domain, canonical_mail, canonical_username

# Characters that PostgreSQL's `UPPER` or Python's `lower` turn into ASCII letters, and lookalikes.
FOLDED = ("adm\u0131n", "adm\u0130n", "\u017fam", "\u212aim")


def test_ascii_alone_is_folded() -> None:
    assert ascii_lower("ADMIN \u212a \u0130 Ä") == "admin \u212a \u0130 Ä"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Ada@Example.NET", "ada@example.net"),
        ("ada+dns.x_1@example.net", "ada+dns.x_1@example.net"),
        ("ada@grüße.de", "ada@xn--gre-6ka8l.de"),
        ("ada@XN--gre-6ka8l.de", "ada@xn--gre-6ka8l.de"),
        ("admin@g\u0131thub.com", "admin@xn--gthub-n4a.com"),
    ],
)
def test_addresses(text: str, canonical: str) -> None:
    assert canonical_mail(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *(f"{local}@example.net" for local in (*FOLDED, "jürgen", '"ada"', "", "a b", "a..b", ".a", "a(b)", "x" * 65)),
        *(
            f"ada@{domain}"
            for domain in ("", "\u212aent.uk", "exam\uff50le.net", "a\u3002b", "a..b", "a.", "[192.0.2.1]")
        ),
        *("ada", "ada@exa mple.net", "ada@xn--a.net", "ada@-a.net", "ada@ex_ample.net", "ada\0@example.net"),
    ],
)
def test_addresses_without_a_canonical_spelling(text: str) -> None:
    assert canonical_mail(text) is None


def test_domains() -> None:
    assert canonical_domain("Example.NET") == "example.net"
    assert canonical_domain("exa\u212a.net") is None


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Ada.L+x@y-z_1", "ada.l+x@y-z_1"),
        ("JÜRGEN", "jürgen"),
        ("Ju\u0308rgen", "jürgen"),
        ("\uff21da", "ada"),  # a full-width A
        ("Иван", "иван"),
        ("adm\u0131n", "adm\u0131n"),  # a different name, not admin
    ],
)
def test_user_names(text: str, canonical: str) -> None:
    assert canonical_username(text) == canonical


@pytest.mark.parametrize("text", ["", "a b", "\u017fam", "\u212aim", "ﬁn", "a\u200bb", "a\u0627b", "\u2167", "a\0"])
def test_user_names_without_a_canonical_spelling(text: str) -> None:
    assert canonical_username(text) is None


@pytest.mark.parametrize("text", [*FOLDED, "JÜRGEN", "ΣΑΣ", "ß", "ẞ", "Straße"])
def test_a_canonical_spelling_stays_as_it_is(text: str) -> None:
    if (once := canonical_username(text)) is not None:
        assert canonical_username(once) == once
