"""Where alerts go."""

from django.utils import timezone

from dnspanel.alerts.routes import RouteTerms, create_route


def make_route() -> None:
    """Send alerts to a mailbox."""
    create_route(terms=RouteTerms("ops", "mail", "ops@people.test"), by=None, now=timezone.now())
