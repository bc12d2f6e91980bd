"""Alert routes for tests."""

from django.utils import timezone

from dnspanel.alerts.routes import RouteTerms, create_route


def make_route() -> None:
    """Create an alert route to a mail address."""
    create_route(terms=RouteTerms("ops", "mail", "ops@people.test"), by=None, now=timezone.now())
