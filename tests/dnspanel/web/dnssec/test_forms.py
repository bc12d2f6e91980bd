"""The forms of the DNSSEC page, and the values that they make from typed text."""

from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.datastructures import MultiValueDict

from dnspanel.web.dnssec.forms import AddKeyForm, CdsForm, DenialForm, SignForm
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.signing_state import SigningState
from replication.codec.dnssec import Nsec3

SENT = {"form_id": str(uuid4())}


@pytest.mark.parametrize("nsec3", [None, Nsec3(), Nsec3(3, b"\xab", True, True)])
def test_the_denial_form_begins_with_what_is(nsec3: Nsec3 | None) -> None:
    initial = DenialForm.initial_of(SigningState(nsec3=nsec3))
    form = DenialForm({**SENT, **initial})
    assert form.is_valid()
    assert form.nsec3 == nsec3


def test_the_size_counts_for_rsa_alone() -> None:
    for algorithm, bits in (("13", None), ("8", 4096)):
        form = SignForm({**SENT, "algorithm": algorithm, "bits": "4096", "denial": "nsec"})
        assert form.is_valid()
        assert form.key_bits == bits


def test_a_text_that_is_no_key_is_refused_at_its_field() -> None:
    form = AddKeyForm({**SENT, "algorithm": "13", "flags": "257", "private_text": "x" * 40})
    assert list(form.errors) == ["private_text"]


TEXT = key_material.generate(13).private_text


@pytest.mark.parametrize(
    ("data", "files", "field"),
    [
        ({"public_text": "x"}, [], "public_text"),
        ({"private_text": TEXT}, [TEXT.encode()], "key_files"),
        ({}, [b"x"], "key_files"),
        ({}, [TEXT.encode(), b"x", b"y"], "key_files"),
        ({}, [b"\xff"], "key_files"),
        ({}, [b"x" * (key_material.MOST_TEXT + 1)], "key_files"),
        ({}, [TEXT.replace("PrivateKey", "Secret").encode()], "key_files"),
    ],
)
def test_files_that_are_no_key_are_refused_at_their_field(data: dict[str, str], files: list[bytes], field: str) -> None:
    uploaded = MultiValueDict({"key_files": [SimpleUploadedFile("K", content) for content in files]})
    form = AddKeyForm({**SENT, "algorithm": "13", "flags": "257", **data}, uploaded)
    assert list(form.errors) == [field]


def test_digest_types_that_an_api_set_can_stay() -> None:
    form = CdsForm({**SENT, "cds": "1,2"}, state=SigningState(cds="1,2"))
    assert form.is_valid()
    assert not CdsForm({**SENT, "cds": "1,2"}, state=SigningState()).is_valid()
