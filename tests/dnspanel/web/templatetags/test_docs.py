"""Template tags and filters of the documentation pages."""

from dnspanel.web.api_document import TOKEN
from dnspanel.web.templatetags.docs import inline_code, paragraphs, with_token


def test_code_is_marked_and_everything_escaped() -> None:
    assert inline_code("Use `<a>` & b") == "Use <code>&lt;a&gt;</code> &amp; b"


def test_paragraphs_and_lists_are_told_apart() -> None:
    assert paragraphs("One\nline.\n\n- `a`: x\n- b <i>\n\n") == (
        "<p>One line.</p><ul><li><code>a</code>: x</li><li>b &lt;i&gt;</li></ul>"
    )
    assert paragraphs("") == ""


def test_the_place_of_the_token_is_an_element() -> None:
    assert with_token(f"'<{TOKEN}>'") == f"&#x27;&lt;<span data-secret>{TOKEN}</span>&gt;&#x27;"
