"""A search for untranslatable texts in templates, pages and stored messages. Used by `tests/test_languages.py`."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from django import forms
from django.utils.choices import CallableChoiceIterator

from tests.syntax import dotted, nodes_of

ROOT = Path(__file__).resolve().parent.parent
# Functions that show their second argument as a message.
_SAYS = frozenset({"messages.success", "messages.info", "messages.warning", "messages.error", "say_done"})
# Attributes whose text people read or hear.
READ_ATTRIBUTES = ("alt", "aria-label", "data-label", "label", "placeholder", "title")
# Keyword arguments of forms and pages whose values are texts.
READ_ARGUMENTS = ("button", "empty_label", "help_text", "label", "title")
_MARKED = re.compile(
    r"\{% (blocktranslate|comment)\b.*?\{% end\1 %\}|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->"
    r"|<(script|style|svg|pre|code|kbd|textarea)\b.*?</\2>",
    re.DOTALL,
)
# Texts that are passed to filters and included templates, without those marked by `_`.
_GIVEN = re.compile(
    r'\|(?:default|default_if_none|join|pluralize):["\']([^"\']*)["\']|\{% include [^%]*? with [^%]*?="([^"]* [^"]*)"'
)
# Values of inputs are read if they begin with a word of a sentence. Others are codes.
_ATTRIBUTE = re.compile(rf'\s(?:(?:{"|".join(READ_ATTRIBUTES)})="([^"]*)"|value="([A-Z][a-z]+ [^"]*)")')
_TAG = re.compile(r"<[^<>]*>")
_FULL = re.compile(r"[A-Z…“][^\n]*[a-z…”)][.!]\s*")
_PLAIN = re.compile(r"[A-Za-z][a-z]+( [A-Za-z]+)*")
_ORDINARY = re.compile(r"(^|\s)[a-z]{3,}")
_WORD = re.compile(r"[^\W\d_]{2,}")
# Names that are the same in every language, and words on keys.
_NAMES = re.compile(
    r"&\w+;|\b(dnspanel|PowerDNS|DNS(?:SEC|KEY)?|C?D(?:NSKEY|S)|TTL|SOA|NS|[AI]XFR|NOTIFY|TSIG|RRsets?)\b"
    r"|\b(Okta|terraform|www)\b|\b(API|URL|UDP|TCP|TLS|SAML|SCIM|JSON|CSV|Ctrl|Esc|Enter|ms|min|q/s)\b"
    r"|\S+@\S+|https?://\S+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)+\b|\b[a-z]+(?:-[a-z]+)+\b"
)


def unmarked_in_template(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of each piece of a template that would be English in every language."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    for found in _GIVEN.finditer(text):
        said = found[1] or found[2] or ""
        if _WORD.search(_NAMES.sub("", said)):
            yield text.count("\n", 0, found.start()) + 1, said
    bare = _MARKED.sub(blank, text)
    for found in _ATTRIBUTE.finditer(bare):
        said = (found[1] or found[2] or "").strip()
        if _WORD.search(_NAMES.sub("", said)):
            yield bare.count("\n", 0, found.start()) + 1, said
    for number, line in enumerate(_TAG.sub(blank, bare).splitlines(), 1):
        if _WORD.search(_NAMES.sub("", line)):
            yield number, line.strip()


def unmarked_in_module(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of labels and messages that are plain strings."""
    for node in nodes:
        if isinstance(node, ast.Dict):
            yield from _unmarked_attributes(node)
        if not isinstance(node, ast.Call):
            continue
        read = [keyword.value for keyword in node.keywords if keyword.arg in READ_ARGUMENTS]
        if dotted(node.func) in _SAYS:
            read += node.args[1:2]
        for value in read:
            said = _text_of(value)
            if _WORD.search(_NAMES.sub("", said)):
                yield value.lineno, said


def unmarked_in_form(form: type[forms.BaseForm], labels: Mapping[str, str], unlabelled: Collection[str]) -> list[str]:
    """Return the fields of a form with texts that are English in every language, and fields that lack a label.

    `labels` are the labels of fields without an own one, by name. Templates don't show the labels of `unlabelled`.
    """
    found = []
    for name, field in form.base_fields.items():
        label = labels.get(name) if field.label is None else field.label
        attrs = [field.widget.attrs.get(key) for key in READ_ATTRIBUTES]
        texts = [label, field.help_text, *(each for each in attrs if _PLAIN.fullmatch(_NAMES.sub("", f"{each}")))]
        if isinstance(field, forms.ModelChoiceField):
            texts.append(field.empty_label)
        elif isinstance(field, forms.ChoiceField) and not isinstance(field.widget.choices, CallableChoiceIterator):
            # Other words are names, such as of programs, or codes that are the values themselves.
            texts += [said for value, said in field.choices if said != value and _ORDINARY.search(f"{said}")]
        said = [text for text in texts if type(text) is str and _WORD.search(_NAMES.sub("", text))]
        if not field.widget.is_hidden and (said or (label is None and name not in unlabelled)):
            found.append(f"{form.__module__}.{form.__qualname__}.{name}: {said or 'no label'}")
    return found


def _unmarked_attributes(attrs: ast.Dict) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of plain strings in element attributes, except values that aren't words."""
    for key, value in zip(attrs.keys, attrs.values, strict=True):
        said = _text_of(value)
        if isinstance(key, ast.Constant) and key.value in READ_ATTRIBUTES and _PLAIN.fullmatch(_NAMES.sub("", said)):
            yield value.lineno, said


# Packages whose errors and sentences reach people on pages. Interfaces for programs are in English.
_OF_PEOPLE = (
    *("accounts", "alerts", "audit", "backup", "catalogs", "fleet", "primaries", "publish", "secondaries"),
    *("transfer", "web", "webhooks", "zones"),
)
_OF_NODES = ("replication/dns", "replication/errors.py", "replication/front/rotation.py")
# Modules with texts for operators at a command line.
_OF_OPERATORS = frozenset(
    {
        *(
            "processes/broker.py",
            "checks.py",
            "cli_file.py",
            "settings.py",
            "environment.py",
            "watchdog.py",
            "processes/without_broker.py",
        ),
        *("accounts/checks.py", "accounts/secrets/database_key.py", "accounts/secrets/key_rotation.py"),
    }
)
# Texts of the audit log, answers to programs and to the panel's own scripts, texts of files, and internal errors.
_OF_THE_RECORD = frozenset(
    {
        " RRsets came for … zones that have ",
        "A request has at most … bytes.",
        "A test: nothing is published.",
        "CREATE DATABASE",
        "File paths are relative to the directory of this list.",
        "PostgreSQL's content",
        "Send a JSON object with `code` and `csr`.",
        "There is no format ….",
        "a new history: … ",
        "first sign-in",
        "signed in",
        "two patches for one zone",
        "verified mail",
        "zone … comes after zone ",
    }
)
# Functions that mark a text, or translate it.
_MARKING = frozenset({"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"})
# Errors for programs, which no page shows.
_OF_PROGRAMS = frozenset(
    {
        "AssertionError",
        "BadCompression",
        "CommandError",
        "ImproperlyConfigured",
        "KeyError",
        "NotImplementedError",
        "RuntimeError",
        "TypeError",
        "Unknown",
    }
)


def stored_columns() -> frozenset[str]:
    """Return the names of the columns that hold texts for people."""
    return frozenset(
        target.id
        for path in (ROOT / "dnspanel").rglob("*.py")
        if "models" in {path.stem, path.parent.name}
        for node in nodes_of(path)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func) == "MessageField"
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def unmarked_in_errors(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of plain strings that are raised as errors or passed to an error's `__init__`."""
    for node in nodes:
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        name = dotted(call.func)
        if isinstance(node, ast.Raise) and name.split(".")[-1] in _OF_PROGRAMS:
            continue
        if isinstance(node, ast.Raise) or name == "super().__init__":
            values = [*call.args, *(keyword.value for keyword in call.keywords)]
            yield from ((value.lineno, said) for value in values if (said := _messages_in(value)))


def unmarked_in_columns(nodes: Sequence[ast.AST], columns: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of plain strings that are assigned to these columns."""
    for node in nodes:
        if isinstance(node, ast.Call):
            values = [keyword.value for keyword in node.keywords if keyword.arg in columns]
        elif isinstance(node, ast.Assign):
            values = [node.value for target in node.targets if _last_name(target) in columns]
        elif isinstance(node, ast.Dict):
            values = [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value in columns
            ]
        else:
            continue
        yield from ((value.lineno, said) for value in values if (said := _messages_in(value)))


def unmarked_anywhere(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of whole sentences anywhere except in docstrings, asserts and logs."""
    passed_over: set[int] = set()
    for node in nodes:
        passed = []
        if isinstance(node, ast.Expr | ast.Assert):  # docstrings and asserts
            passed = [node.value] if isinstance(node, ast.Expr) else [node]
            passed = [each for each in passed if isinstance(each, ast.Constant | ast.Assert)]
        elif isinstance(node, ast.JoinedStr):
            passed = list(node.values)
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            last = name.split(".")[-1]
            is_passed = last in _MARKING or last in _OF_PROGRAMS or name.startswith("logger.")
            passed = [node] if is_passed else []
        passed_over.update(id(within) for each in passed for within in ast.walk(each))
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in passed_over:
            said = _text_of(node)
            if _FULL.fullmatch(said) and len(_WORD.findall(said)) > 2:
                yield node.lineno, said


def _last_name(target: ast.expr) -> str:
    """Return the last part of a name: `error` for `row.error` and for `error`."""
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""


def _messages_in(value: ast.expr) -> str:
    """Return the text of an unmarked string of several words, also within a condition. Return "" for others."""
    if isinstance(value, ast.IfExp):
        return _messages_in(value.body) or _messages_in(value.orelse)
    if isinstance(value, ast.BoolOp):
        return next((said for each in value.values if (said := _messages_in(each))), "")
    said = _text_of(value)
    return said if " " in said.strip() and _WORD.search(_NAMES.sub("", said)) else ""


def _text_of(value: ast.expr) -> str:
    """Return the text of a string, with an ellipsis for each embedded value, or "" for any other expression."""
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    return "…".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def unmarked() -> Iterator[str]:
    """Yield every unmarked text with its file and line."""
    yield from _unmarked_in_pages()
    yield from _unmarked_in_panel()
    yield from _unmarked_in_nodes()


def _unmarked_in_pages() -> Iterator[str]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for number, said in unmarked_in_template(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{number}: {said}"
    for path in sorted((ROOT / "dnspanel" / "web").rglob("*.py")):
        for number, said in unmarked_in_module(nodes_of(path)):
            yield f"{path.relative_to(ROOT)}:{number}: {said}"


def _unmarked_in_panel() -> Iterator[str]:
    columns = stored_columns()
    for path in sorted((ROOT / "dnspanel").rglob("*.py")):
        within = path.relative_to(ROOT / "dnspanel")
        package = within.parts[0]
        is_read = package in _OF_PEOPLE or package.endswith(".py")
        if not is_read or str(within) in _OF_OPERATORS or not {"migrations", "management"}.isdisjoint(path.parts):
            continue
        nodes = nodes_of(path)
        found = {*unmarked_in_errors(nodes), *unmarked_in_columns(nodes, columns), *unmarked_anywhere(nodes)}
        for number, said in sorted((number, said) for number, said in found if said not in _OF_THE_RECORD):
            yield f"{path.relative_to(ROOT)}:{number}: {said}"


def _unmarked_in_nodes() -> Iterator[str]:
    for place in _OF_NODES:
        for path in sorted((ROOT / place).rglob("*.py")) or [ROOT / place]:
            nodes = nodes_of(path)
            for number, said in sorted({*unmarked_in_errors(nodes), *unmarked_anywhere(nodes)}):
                yield f"{path.relative_to(ROOT)}:{number}: {said}"
