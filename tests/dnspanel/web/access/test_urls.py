"""URLs of people, teams, tokens, webhooks and the audit log."""

from dnspanel.web.access.urls import urlpatterns


def test_the_first_word_of_a_name_is_the_group_that_the_navigation_marks() -> None:
    assert {str(pattern.name).partition("-")[0] for pattern in urlpatterns} == {
        "people",
        "person",
        "grant",
        "team",
        "token",
        "webhook",
        "audit",
    }
