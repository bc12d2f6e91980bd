"""Tests of snippets: a shell, a YAML parser or Terraform must read them correctly."""

import json
import shlex
from urllib.parse import parse_qs, urlsplit

import pytest

from dnspanel.accounts.tokens.presets import Preset
from dnspanel.accounts.tokens.snippets import Place, Snippet, snippets_for

URL, SECRET = "https://panel.example.test", "dnsp_" + "x" * 43
PLACE = Place(URL, SECRET, zone="example.test.", name="www.example.test.")
HOSTILE = Place(URL, SECRET, zone="exa\\$\\(mple.test.", name="it's\\;`x`.exa\\$\\(mple.test.")


def by_tool(preset: Preset, place: Place = PLACE) -> dict[str, Snippet]:
    return {snippet.tool: snippet for snippet in snippets_for(preset, place)}


@pytest.mark.parametrize("preset", Preset)
def test_every_snippet_names_the_panel_and_the_secret(preset: Preset) -> None:
    found = snippets_for(preset, PLACE)
    assert found
    for snippet in found:
        assert URL in snippet.text
        assert SECRET in snippet.text


@pytest.mark.parametrize("preset", Preset)
def test_no_name_of_a_zone_becomes_shell(preset: Preset) -> None:
    for snippet in snippets_for(preset, HOSTILE):
        if snippet.language == "sh":
            lexer = shlex.shlex(snippet.text, posix=True, punctuation_chars=True)
            assert not {token for token in lexer if token in {";", "`", "(", ")", "$"}}


def test_the_challenge_by_hand_extends_and_prunes_one_value() -> None:
    words = shlex.split(by_tool(Preset.ACME)["curl"].text.replace("\\\n", " "))
    bodies = [json.loads(words[at + 1]) for at, word in enumerate(words) if word == "-d"]
    assert [body["rrsets"][0]["changetype"] for body in bodies] == ["EXTEND", "PRUNE"]
    assert {body["rrsets"][0]["name"] for body in bodies} == {"_acme-challenge.www.example.test."}


def test_the_update_address_asks_for_the_host() -> None:
    line = by_tool(Preset.DYNDNS)["router"].text.splitlines()[0]
    address = urlsplit(line.removeprefix("Update URL: "))
    assert address.path == "/nic/update"
    assert parse_qs(address.query)["hostname"] == ["www.example.test"]


def test_terraform_does_not_read_a_name_as_a_template() -> None:
    text = by_tool(Preset.CI, Place(URL, SECRET, zone="${path}.test."))["Terraform"].text
    assert '"$${path}.test."' in text
