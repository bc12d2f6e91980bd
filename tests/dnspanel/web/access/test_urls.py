"""URLs of tokens, webhooks, the audit log and the documentation."""

from django.urls import resolve, reverse

from dnspanel.web.access.urls import urlpatterns


def test_the_first_word_of_a_name_is_the_group_that_the_navigation_marks() -> None:
    assert {str(pattern.name).partition("-")[0] for pattern in urlpatterns} == {"token", "webhook", "audit", "docs"}


def test_the_document_is_not_taken_for_a_page() -> None:
    assert resolve("/docs/api/openapi.json").view_name == "docs-api-document"
    assert resolve(reverse("docs-api-page", args=["errors"])).view_name == "docs-api-page"
