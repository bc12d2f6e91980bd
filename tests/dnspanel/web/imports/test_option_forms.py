"""The options of an import, and typed confirmations."""

import pytest
from django.http import QueryDict

from dnspanel.transfer.documents import Options
from dnspanel.web.imports.option_forms import OptionsForm, TypedForm


def test_the_options_are_those_of_the_engine_and_back() -> None:
    options = Options(existing="replace", ttl_least=60, nameservers="ours", comments=False)
    display = OptionsForm(initial=options.to_json())
    sent = {name: "" if field.value() is None else str(field.value()) for name, field in ((f.name, f) for f in display)}
    sent.pop("comments")  # browsers send nothing for an unticked box
    form = OptionsForm(sent)
    assert form.is_valid(), form.errors
    assert form.options == options


def test_bounds_of_ttl_that_cross_are_refused() -> None:
    sent = QueryDict("new=create&existing=merge&nameservers=keep&soa=keep&ttl_least=600&ttl_most=60")
    assert "ttl_most" in OptionsForm(sent).errors


@pytest.mark.parametrize(("typed", "right"), [("undo 1,204", True), ("Undo  1204", True), ("undo 120", False)])
def test_a_typed_confirmation_minds_the_number_not_the_comma(typed: str, right: bool) -> None:
    assert TypedForm({"typed": typed}, confirmation="undo 1,204").is_valid() is right
