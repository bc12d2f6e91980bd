"""The choice between everything and a selection, in every form that has one."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.template.loader import render_to_string
from django.urls import get_resolver

from dnspanel.accounts.actors.actors import actor_of
from dnspanel.accounts.models import Team, User
from dnspanel.web.access.grant_form import GrantForm
from dnspanel.web.fleet.catalog_form import CatalogForm
from dnspanel.web.frame.all_or_some import AllOrSomeForm
from dnspanel.web.zones import selected_zones
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import MakeZone
from tests.people import NOW

# Fields without a selection: a number without a limit, or all names and types of a query file.
NUMBERS = {"unused_days", "ksk_days", "sample"}
assert get_resolver().url_patterns  # imports the views, and so all forms


def below(form: type[forms.BaseForm]) -> Iterator[type[forms.BaseForm]]:
    for each in form.__subclasses__():
        if each.__module__.startswith("dnspanel."):
            yield each
            yield from below(each)


def with_choices() -> list[type[AllOrSomeForm]]:
    """Return the forms of pages that have such a choice, without base classes."""
    found: set[Any] = set(below(AllOrSomeForm))
    return sorted(
        (each for each in found if not list(below(each)) or each in (GrantForm, CatalogForm)), key=lambda x: x.__name__
    )


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone()


def test_no_other_form_has_an_empty_field_that_means_everything() -> None:
    means_all = re.compile(r"empty.*\b(all|any|every|everyone|unlimited|no limit)\b|\bempty list\b", re.I | re.S)
    for form in set(below(forms.Form)):
        inside = {name for each in getattr(form, "all_or_some", ()) for name in each.fields}
        wrong = {
            name
            for name, field in form.base_fields.items()
            if name not in inside | NUMBERS and means_all.search(str(field.help_text))
        }
        assert not wrong, f"{form.__module__}.{form.__name__}: offer a choice of all or some for {wrong}"


@pytest.mark.parametrize("form", with_choices(), ids=lambda form: form.__name__)
def test_everything_is_chosen_and_an_empty_selection_is_refused(
    form: type[AllOrSomeForm], alice: User, zone: Zone
) -> None:
    Team.objects.create(name="web", created_at=NOW)
    offered = {"person": alice, "author": alice, "reader": actor_of(alice), "zone": zone, "counted_for": alice}
    needed: dict[str, Any] = {}
    for base in form.__mro__:
        names = inspect.signature(base.__init__).parameters if "__init__" in vars(base) else {}
        needed = needed or {name: value for name, value in offered.items() if name in names}
    parts = form(**needed).parts
    assert parts
    for each in form.all_or_some:
        page = render_to_string("_all_or_some.html", {"part": parts[each.name]})
        assert page.count('type="radio"') == 2 + len(each.more)
        empty = form({"all": "1", each.name: "some"}, **needed)
        assert any("choose the option for all" in error for error in empty.errors[each.fields[0]])
        everything = form({"all": "1", each.name: "all", each.fields[0]: "?!", each.number: "0"}, **needed)
        assert each.fields[0] not in everything.errors
        assert (each.number in everything.errors) == each.needs_number
        counted = form({"all": "1", each.name: "all", each.number: "1"}, **needed)
        assert each.number not in counted.errors
        unsaid = form({"all": "1"}, **needed)
        assert (each.name in unsaid.errors) == (not each.default)


def test_the_number_is_the_current_one_in_any_spelling(alice: User, make_zone: MakeZone) -> None:
    form = selected_zones.ManyZonesForm
    data = {"all": "1", "where": "all", "act": "delete"}

    def fault(number: str) -> str:
        return " ".join(form({**data, "where_number": number}, author=alice).errors.get("where_number", []))

    make_zone(name="one.test.")
    assert "All zones (1)" in str(form(author=alice)["where"])
    assert fault("2") == fault("") == "There is now 1 zone. To confirm, enter 1."
    assert fault("1") == ""
    make_zone(name="two.test.")
    assert fault("1") == "There are now 2 zones. To confirm, enter 2."
    many = form({**data, "where_number": "20.031"}, author=alice)
    many.__dict__["total"] = 20_031
    assert "All zones (20,031)" in str(many["where"])
    assert "where_number" not in many.errors
    more = form({**data, "where_number": "100 000"}, author=alice)
    more.__dict__["total"] = 100_001
    assert "All zones (more than 100,000)" in str(more["where"])
    assert "where_number" not in more.errors
