"""Words that programs compare: codes in kebab case, without a space or a capital letter, in all of the document."""

import re
from collections.abc import Iterator
from typing import Any

from dnspanel.api.v2.http.representation import code_of
from dnspanel.api.v2.schema.document import document

# A code, or several with dots between them: the events of webhooks. "" stands for none.
CODE = re.compile(r"(?:[a-z0-9]+(?:[-_.][a-z0-9]+)*)?")
# Characters that somebody's file has between its columns.
OTHERS = {",", ";", "\t", "|"}


def enums_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("enum"), list):
            yield from (each for each in value["enum"] if isinstance(each, str))
        for each in value.values():
            yield from enums_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from enums_in(each)


def test_every_word_of_an_enum_is_a_code() -> None:
    found = set(enums_in(document()))
    assert len(found) > 200
    assert {word for word in found - OTHERS if not CODE.fullmatch(word)} == set()


def test_a_word_of_the_pages_becomes_a_code() -> None:
    assert code_of("waiting for approval") == "waiting-for-approval"
    assert code_of("AXFR") == "axfr"
