"""Changes of English texts that keep their translations (`tests.retext`)."""

from pathlib import Path

import pytest

from tests.retext import TextMissing, Tree, change_catalog, change_python, change_template, read_pairs

CATALOG = """\
msgid ""
msgstr "Language: de"

msgid "Mend all"
msgstr "Alles beheben"

msgid "Fix all"
msgstr "Alle reparieren"

#, python-format
msgid "%(count)s zone is gone"
msgid_plural "%(count)s zones are gone"
msgstr[0] "%(count)s Zone ist weg"
msgstr[1] "%(count)s Zonen sind weg"
"""


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ('gettext("Mend all")', 'gettext("Fix all")'),
        ('f("Mend " "all", "Mend all it")', 'f("Fix all", "Mend all it")'),
        ('("Mend "\n "all")', '("Fix all")'),
        ('"ä", "Mend all"', '"ä", "Fix all"'),
        ('f"Mend all {x}"', 'f"Mend all {x}"'),
    ],
)
def test_a_literal_of_python_is_changed_as_a_whole(source: str, changed: str) -> None:
    assert change_python(source, "Mend all", "Fix all") == changed


def test_a_long_text_becomes_a_literal_of_several_parts() -> None:
    text = 'The "node" is behind. ' * 10
    changed = change_python('f("old")', "old", text)
    assert max(map(len, changed.split('" "'))) <= 110
    namespace: dict[str, str] = {}
    exec(changed.replace("f(", "found = (", 1), namespace)
    assert namespace["found"] == text


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ('<b>{% translate "Mend all" %}</b>', '<b>{% translate "Fix all" %}</b>'),
        ('{% include "x" with label=_("Mend all") %}', '{% include "x" with label=_("Fix all") %}'),
        ("{% blocktranslate %}Mend all{% endblocktranslate %}", "{% blocktranslate %}Fix all{% endblocktranslate %}"),
        ("Mend all", "Mend all"),
    ],
)
def test_a_marked_text_of_a_template_is_changed(source: str, changed: str) -> None:
    assert change_template(source, "Mend all", "Fix all") == changed


def test_a_block_keeps_its_variables_its_plural_and_its_lines() -> None:
    source = (
        "  {% blocktranslate trimmed count counter=n %}\n    {{ count }} zone\n    is gone\n"
        "  {% plural %}\n    {{ count }} zones are gone\n  {% endblocktranslate %}\n"
    )
    changed = change_template(source, "%(count)s zone is gone", "%(count)s zone deleted")
    assert changed == source.replace("{{ count }} zone\n    is gone", "{{ count }} zone deleted")
    long = change_template(source, "%(count)s zones are gone", "%(count)s zones were deleted " * 6)
    assert max(map(len, long.splitlines())) <= 120
    assert "{{\n" not in long


def test_a_translation_stays_with_its_text() -> None:
    changed = change_catalog(CATALOG, "%(count)s zones are gone", "%(count)s zones deleted")
    assert changed == CATALOG.replace("zones are gone", "zones deleted")


def test_a_text_that_another_entry_has_already_takes_its_translation() -> None:
    changed = change_catalog(CATALOG, "Mend all", "Fix all")
    assert "Alles beheben" not in changed
    assert changed.count('msgid "Fix all"') == 1


def test_documents_follow_and_other_mentions_are_listed(tmp_path: Path) -> None:
    texts = {
        "templates/a.html": '{% translate "Mend all" %}',
        "docs/a.md": "Press *Mend all*. Then Mend all of it.",
        "locale/de/LC_MESSAGES/django.po": CATALOG,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    tree = Tree(tmp_path)
    tree.change_text("Mend all", "Repair all")
    assert tree.mentions("Mend all") == ["docs/a.md:1: Press *Repair all*. Then Mend all of it."]
    assert {str(path.relative_to(tmp_path)) for path in tree.write()} == texts.keys()
    assert "Alles beheben" in (tmp_path / "locale/de/LC_MESSAGES/django.po").read_text()


def test_a_text_that_no_source_has_changes_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    with pytest.raises(TextMissing, match="Mend all"):
        tree.change_text("Mend all", "Fix all")
    assert tree.write() == []


def test_a_file_of_pairs_names_the_line_that_is_none() -> None:
    assert read_pairs("# buttons\n- Mend all\n+ Fix all\n\n- a\\nb\n+ c\n") == [("Mend all", "Fix all"), ("a\nb", "c")]
    with pytest.raises(ValueError, match="line 2"):
        read_pairs("- Mend all\n- Fix all\n")
    with pytest.raises(ValueError, match="Mend all"):
        read_pairs("- Mend all\n")
