"""Forms for the sources of imports: accepted and refused values, and the fields that display errors."""

from typing import Any
from uuid import uuid4

import pytest

from dnspanel.transfer import import_limits
from dnspanel.web.imports.source_forms import (
    AxfrForm,
    PasteForm,
    PowerdnsApiForm,
    PowerdnsSqlForm,
    SourceForm,
)

AXFR = {"server": "192.0.2.53", "port": "53", "tsig_algorithm": "hmac-sha256"}


def form_of(cls: type[SourceForm], **fields: str) -> Any:
    return cls({"form_id": str(uuid4()), **fields})


def test_a_transfer_takes_names_in_any_writing_each_once() -> None:
    form = form_of(AxfrForm, **AXFR, zones="Example.test\nexample.test.\n\nbücher.test")
    assert form.is_valid(), form.errors
    assert form.parameters["zones"] == ["example.test.", "xn--bcher-kva.test."]
    assert form.secret is None
    assert form.default_title == "Transfer from 192.0.2.53"


def test_a_transfer_needs_zones_or_a_catalog_and_not_both() -> None:
    assert "zones" in form_of(AxfrForm, **AXFR).errors
    assert "zones" in form_of(AxfrForm, **AXFR, zones="a.test", catalog="catalog.test").errors
    assert form_of(AxfrForm, **AXFR, catalog="catalog.test").is_valid()


def test_a_wrong_name_is_named_by_its_line() -> None:
    assert "Line 2" in str(form_of(AxfrForm, **AXFR, zones="a.test\na..test").errors["zones"])


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"tsig_name": "key.test"}, "tsig_secret"),
        ({"tsig_secret": "c2VjcmV0"}, "tsig_name"),
        ({"tsig_name": "key.test", "tsig_secret": "no base64"}, "tsig_secret"),
    ],
)
def test_half_a_tsig_key_is_refused_at_its_field(fields: dict[str, str], at: str) -> None:
    assert at in form_of(AxfrForm, **AXFR, zones="a.test", **fields).errors


def test_a_secret_is_apart_from_the_parameters_and_never_shown_again() -> None:
    form = form_of(AxfrForm, **AXFR, zones="a.test", tsig_name="key.test", tsig_secret="c2VjcmV0")
    assert form.is_valid(), form.errors
    assert form.secret == {"tsig_secret": "c2VjcmV0"}
    assert "c2VjcmV0" not in str(form.parameters)
    assert "c2VjcmV0" not in str(form)


@pytest.mark.parametrize("url", ["192.0.2.53:8081", "ftp://192.0.2.53", "http://", "http://me:secret@192.0.2.53"])
def test_an_address_of_an_api_is_http_without_a_password(url: str) -> None:
    assert "url" in form_of(PowerdnsApiForm, url=url, key="k", server_id="localhost").errors


def test_a_database_has_its_usual_port_unless_another_is_given() -> None:
    fields = {"host": "db.test", "database": "pdns", "user": "pdns", "password": "p"}
    form = form_of(PowerdnsSqlForm, database_kind="mysql", **fields)
    assert form.is_valid(), form.errors
    assert form.parameters == {"kind": "mysql", "host": "db.test", "port": 3306, "database": "pdns", "user": "pdns"}
    other = form_of(PowerdnsSqlForm, database_kind="postgresql", port="6432", **fields)
    assert other.is_valid()
    assert other.parameters["port"] == 6432


def test_a_large_paste_is_refused_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_limits, "MOST_PASTE_BYTES", 1 << 20)
    form = form_of(PasteForm, text="x" * ((1 << 20) + 1))
    assert "must not exceed 1 MiB" in str(form.errors["text"])
