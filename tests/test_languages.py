"""Every text on pages is marked for translation, and every language has it, with the same placeholders and elements."""

import ast
import gettext
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django import forms

from dnspanel import web
from dnspanel.accounts.models import Team
from dnspanel.languages import LANGUAGES
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.forms import LABELS, PanelForm
from tests.glued import glued, glued_in_module, glued_in_template
from tests.marked import (
    stored_columns,
    unmarked,
    unmarked_anywhere,
    unmarked_in_columns,
    unmarked_in_errors,
    unmarked_in_form,
    unmarked_in_module,
    unmarked_in_template,
)
from tests.syntax import dotted, nodes_in, nodes_of

ROOT = Path(__file__).resolve().parent.parent
TRANSLATED = [code for code, _ in LANGUAGES if code != "en"]
PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w*(?:![rsa])?(?::[^{}]*)?\}")
# Fields with another text on the page, also by the form's `__init__`, or with none because scripts and links send them.
UNLABELLED = frozenset(
    {
        *(
            "active",
            "address",
            "base_revision",
            "find",
            "lines",
            "means",
            "notes",
            "old_name",
            "old_type",
            "others",
            "overwrite",
        ),
        *("pattern", "preview", "published", "q", "replacement", "seen", "typed", "typed_count"),
    }
)
ELEMENT = re.compile(r"<[^<>]+>")


def catalog(code: str) -> Path:
    return Path("locale", code, "LC_MESSAGES", "django.po")


@cache
def texts(code: str) -> dict[str, str]:
    """Return a language's translations by English text. Texts with a plural have one entry per number."""
    with (ROOT / catalog(code)).with_suffix(".mo").open("rb") as file:
        read = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # nothing else returns all texts
    return {key if isinstance(key, str) else f"{key[0]}\0{key[1]}": text for key, text in read.items() if key}


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the catalogs as `./dev texts` would leave them now."""
    directory = tmp_path_factory.mktemp("texts")
    for name in ("dnspanel", "replication", "templates", "locale"):
        shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
    languages = [word for code in TRANSLATED for word in ("--locale", code)]
    # Without places of texts, as in the repository, because Django would search all of them for each template's name.
    how = ["--extension", "html,txt,py", "--no-obsolete", "--no-wrap", "--add-location=never"]
    command = [sys.executable, "-m", "django", "makemessages", *languages, *how]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return directory


def test_every_text_of_a_page_is_marked() -> None:
    assert list(unmarked()) == []


def form_classes() -> Iterator[type[forms.BaseForm]]:
    """Yield the panel's form classes."""
    for module in pkgutil.walk_packages(web.__path__, "dnspanel.web."):
        if not module.name.endswith("urls"):  # these need the converters of `dnspanel.web.urls`
            importlib.import_module(module.name)
    waiting: list[type[forms.BaseForm]] = [forms.Form]
    while waiting:
        form = waiting.pop()
        waiting += form.__subclasses__()
        if form.__module__.startswith("dnspanel."):
            yield form


def test_every_label_and_help_text_of_a_form_is_marked() -> None:
    """Django's label for a field without one is the field's name, which is English in every language."""
    found = [fault for form in form_classes() for fault in unmarked_in_form(form, LABELS, UNLABELLED)]
    assert sorted(set(found)) == []
    assert all(issubclass(form, PanelForm) for form in form_classes())  # only these use LABELS


def test_fields_with_texts_that_are_not_marked_are_found() -> None:
    class Plain(forms.Form):
        name = forms.CharField()
        seen = forms.CharField()
        reason = forms.CharField(label="The reason", widget=forms.HiddenInput)
        url = forms.CharField(label="URL", help_text="Enter it.", widget=forms.TextInput({"placeholder": "Any word"}))
        team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("Team"), empty_label="none")
        kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=[("a", "a thing"), ("b", "Knot DNS"), ("c", "c")])

    found = [fault.rpartition("Plain.")[2] for fault in unmarked_in_form(Plain, {}, {"seen"})]
    assert found == ["name: no label", "url: ['Enter it.', 'Any word']", "team: ['none']", "kind: ['a thing']"]
    assert "name: no label" not in [each.rpartition("Plain.")[2] for each in unmarked_in_form(Plain, LABELS, ())]


def test_no_text_is_made_within_another_string() -> None:
    """The program that collects texts does not look into f-strings."""
    found = [
        f"{path}: {ast.unparse(node)}"
        for package in ("dnspanel", "replication")
        for path in sorted((ROOT / package).rglob("*.py"))
        for joined in nodes_of(path)
        if isinstance(joined, ast.JoinedStr)
        for node in ast.walk(joined)
        if isinstance(node, ast.Call) and dotted(node.func) in {"gettext", "ngettext"}
        if any(isinstance(arg, ast.Constant | ast.JoinedStr) for arg in node.args[:1])
    ]
    assert found == []


def test_no_text_has_its_language_when_a_module_is_read() -> None:
    """Texts made at import need `gettext_lazy`. With `gettext`, they would be English for every reader."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.alone.texts_at_import"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout == ""


def test_no_sentence_is_glued_together_from_parts() -> None:
    """Other languages have another order of words, so each message must be whole: one text for each case."""
    assert list(glued()) == []


def test_glued_sentences_are_found() -> None:
    templates = {
        '{% translate "Sent" %} {% translate "by hand" %}': ["Sent + by hand"],
        "{{ at }}{% if by %}{% blocktranslate %}, by {{ by }}{% endblocktranslate %}{% endif %}": [
            "{{ at }} + , by {{ by }}"
        ],
        '<dd>{{ at }} {% translate "by hand" %}</dd>': ["{{ at }} + by hand"],
        '<span>{% translate "Granted by" %}</span> {{ name }}': ["Granted by + {{ name }}"],
        '<kbd>@</kbd> {% translate "is the apex." %}': ["@ + is the apex."],
        '{{ all|add:_(", too") }}': ['|add:_(", too")'],
        '<dt>{% translate "Granted by" %}</dt><dd>{{ name }}</dd>': [],
        '<td>{{ name }} <span class="badge">{% translate "closed" %}</span></td>': [],
        '{% if a %}{% translate "Yes" %}{% else %}{% translate "No" %}{% endif %}': [],
        '{{ reason }} {% translate "Only administrators can change this." %}': [],
        '{% translate "Known filters:" %} {{ names }} · {% translate "sent again" %}': [],
        '<button title="{% translate "Stop" %}">{% translate "Pause" %}</button>': [],
    }
    assert {source: list(glued_in_template(source)) for source in templates} == templates
    modules = {
        'said += gettext("and more")': ["said += gettext('and more')"],
        'f"{gettext(word)} {time}"': ["f'{gettext(word)} {time}'"],
        'gettext("{n} sent").format(n=n) + " again"': ["gettext('{n} sent').format(n=n) + ' again'"],
        'gettext("; more")': ["; more"],
        '"- " + gettext("More")': [],
        'lines += [gettext("More")]': [],
    }
    assert {source: list(glued_in_module(nodes_in(source))) for source in modules} == modules


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_language_has_every_text(collected: Path, code: str) -> None:
    command = ["msgfmt", "--statistics", "--check-format", "--output-file=/dev/null", str(collected / catalog(code))]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin"})
    assert re.fullmatch(r"\d+ translated messages\.\n", said.stderr.splitlines(keepends=True)[-1]), said.stderr


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_catalog_says_nothing_of_places(code: str) -> None:
    """Source positions in catalogs change whenever code moves: 30,000 useless lines that would be in every diff."""
    lines = (ROOT / catalog(code)).read_text().splitlines()
    assert [line for line in lines if line.startswith(("#: ", '"POT-Creation-Date', '"Report-Msgid-Bugs-To'))] == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_translations_keep_placeholders_and_elements(code: str) -> None:
    wrong = []
    for english, text in texts(code).items():
        said, _, number = english.partition("\0")
        same = Counter(ELEMENT.findall(said)) == Counter(ELEMENT.findall(text))
        # The singular form can omit the number.
        if not number:
            same = same and Counter(PLACEHOLDER.findall(said)) == Counter(PLACEHOLDER.findall(text))
        if not same:
            wrong.append((english, text))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<p>Some words</p>", [(1, "Some words")]),
        ('<p>\n  {% translate "Some words" %} and\n</p>', [(2, "and")]),
        ('<nav aria-label="Main">', [(1, "Main")]),
        ('<input value="Before {{ name }}"><button value="aside">', [(1, "Before")]),
        ("{% blocktranslate %}Some <b>words</b>{% endblocktranslate %}", []),
        ("<p>{{ name }} · dnspanel, <code>some code</code> <kbd>Ctrl ↵</kbd></p>", []),
        ('{{ name|default:"nobody" }} {{ name|default:_("nobody") }} {{ names|join:", " }}', [(1, "nobody")]),
        ('{% include "_list.html" with said="These stay:" only %}', [(1, "These stay:")]),
        ('<script>some.code</script><p class="some-class">{% if a > b %}{% endif %}</p>', []),
    ],
)
def test_texts_of_templates_that_are_not_marked_are_found(text: str, said: list[tuple[int, str]]) -> None:
    assert list(unmarked_in_template(text)) == said


def test_texts_of_pages_that_are_not_marked_are_found() -> None:
    module = """
say_done(request, f"{name} is gone.")
forms.CharField(label="Two words", help_text=gettext_lazy("Some words"))
forms.CharField(label="Until", widget=forms.TextInput(attrs={"placeholder": "All zones", "class": "input"}))
forms.CharField(label="URL", widget=forms.TextInput(attrs={"placeholder": "www.example.net"}))
"""
    assert sorted(said for _, said in unmarked_in_module(nodes_in(module))) == [
        " is gone.",
        "All zones",
        "Two words",
        "Until",
    ]


def test_errors_that_are_not_marked_are_found() -> None:
    module = """
raise Refused("name", f"{name} is gone.")
raise Refused("name", gettext("{name} is gone.").format(name=name), reason="Two words" if name else "")
raise RuntimeError("A fault of ours")
class Gone(Refused):
    def __init__(self) -> None:
        super().__init__(f"There is no {self.name}.")
"""
    assert [said for _, said in unmarked_in_errors(nodes_in(module))] == [" is gone.", "Two words", "There is no …."]


def test_sentences_that_are_not_marked_are_found() -> None:
    module = '''
"""A docstring of the module is none."""
def judge(count):
    """Nor is that of a function."""
    logger.info("A line of a log is none.")
    assert count, "This must not be."
    if not count:
        return gettext("The node is up to date.")
    return Verdict(count, f"The node is {count} changes behind.", "too late", "SELECT 1")
'''
    assert [said for _, said in unmarked_anywhere(nodes_in(module))] == ["The node is … changes behind."]


def test_texts_that_are_stored_and_not_marked_are_found() -> None:
    module = """
rows.update(error="The server didn’t respond.", title="Two words")
row.error = f"{name} did not answer." if name else gettext("The server didn’t respond.")
refused = {"error": answer.error or "The server didn’t respond."}
Row(error=str(exc))
"""
    found = [said for _, said in unmarked_in_columns(nodes_in(module), frozenset({"error"}))]
    assert sorted(found) == [" did not answer.", "The server didn’t respond.", "The server didn’t respond."]
    assert stored_columns() >= {"error", "failure", "message", "refusal", "sentence", "waits_for"}
