"""Refusals name the exceeded import limit, with the number that the code enforces."""

import pytest

from dnspanel.transfer import import_limits
from dnspanel.transfer.errors import TransferError, UploadRefused


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        ("upload", import_limits.MOST_UPLOAD_BYTES >> 30),
        ("unpacked", import_limits.MOST_UNPACKED_BYTES >> 30),
        ("ratio", import_limits.MOST_RATIO),
        ("entries", f"{import_limits.MOST_ENTRIES:,}"),
        ("path", import_limits.MOST_PATH_BYTES),
        ("document", import_limits.MOST_DOCUMENT_BYTES >> 20),
        ("generate", f"{import_limits.MOST_GENERATED:,}"),
        ("include", import_limits.MOST_INCLUDE_DEPTH),
    ],
)
def test_every_limit_says_its_number(limit: str, number: object) -> None:
    assert str(number) in import_limits.title(limit)


def test_a_refused_upload_carries_the_name_of_the_limit() -> None:
    refused = UploadRefused(import_limits.title("entries"), limit="entries")
    assert isinstance(refused, TransferError)
    assert (refused.limit, str(refused)) == ("entries", import_limits.title("entries"))
