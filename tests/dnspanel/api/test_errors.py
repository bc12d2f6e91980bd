"""Tests of the API errors: they have their own base class, and the drawing of the errors has each of them."""

from collections.abc import Iterator

from django.urls import get_resolver

from dnspanel.api import errors
from dnspanel.zones.errors import ZoneError


def below(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_no_error_of_an_api_or_of_the_gateway_is_an_error_of_zones() -> None:
    from dnspanel.gateway import answers

    assert get_resolver().url_patterns
    assert answers
    found = {kind.__module__ for kind in below(ZoneError)}
    assert {module for module in found if module.startswith(("dnspanel.api", "dnspanel.gateway"))} == set()


def test_each_error_stands_in_the_drawing() -> None:
    assert get_resolver().url_patterns
    assert errors.__doc__ is not None
    named = [kind.__name__ for kind in below(errors.ApiError) if kind.__module__.startswith("dnspanel.")]
    assert len(named) >= 5
    assert [name for name in named if name not in errors.__doc__] == []
