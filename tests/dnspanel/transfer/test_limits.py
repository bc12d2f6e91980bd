"""A refusal names its limit, with the number that the code keeps to."""

import pytest

from dnspanel.transfer import limits
from dnspanel.transfer.errors import TransferError, UploadRefused


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        ("upload", limits.MOST_UPLOAD_BYTES >> 30),
        ("unpacked", limits.MOST_UNPACKED_BYTES >> 30),
        ("ratio", limits.MOST_RATIO),
        ("entries", f"{limits.MOST_ENTRIES:,}"),
        ("path", limits.MOST_PATH_BYTES),
        ("document", limits.MOST_DOCUMENT_BYTES >> 20),
        ("generate", f"{limits.MOST_GENERATED:,}"),
        ("include", limits.MOST_INCLUDE_DEPTH),
    ],
)
def test_every_limit_says_its_number(limit: str, number: object) -> None:
    assert str(number) in limits.title(limit)


def test_a_refused_upload_carries_the_name_of_the_limit() -> None:
    refused = UploadRefused(limits.title("entries"), limit="entries")
    assert isinstance(refused, TransferError)
    assert (refused.limit, str(refused)) == ("entries", limits.title("entries"))
