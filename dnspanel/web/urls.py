"""URLs of the web face. The first word of a URL's name says which entry of the navigation it belongs to."""

from allauth.account import views as allauth
from django.urls import include, path, register_converter

from dnspanel.web import account, docs, layout, list_looks, one_time_page
from dnspanel.web.access import quotas
from dnspanel.web.converters import ZoneNameConverter
from dnspanel.web.dashboard import pages as dashboard

register_converter(ZoneNameConverter, "zone")

urlpatterns = [
    path("", dashboard.dashboard, name="home"),
    path("healthz", account.healthz, name="healthz"),
    path("sign-in/", allauth.login, name="account_login"),
    path("sign-out/", allauth.logout, name="account_logout"),
    path("account/inactive/", allauth.account_inactive, name="account_inactive"),
    path("account/password/", account.change_password, name="account_change_password"),
    path("account/quotas/", quotas.own_quotas, name="account-quotas"),
    path("account/lists/<str:of>/", list_looks.list_look, name="list-look"),
    path("once/<str:key>/", one_time_page.one_time_page, name="one-time-page"),
    path("welcome/<str:secret>/", account.welcome, name="welcome"),
    path("frame/draft/", layout.draft_pill, name="draft-pill"),
    path("frame/fleet/", layout.fleet_pill, name="fleet-pill"),
    path("docs/api/", docs.api_docs, name="docs-api"),
    path("docs/api/openapi.json", docs.api_document, name="docs-api-document"),
    path("docs/api/<slug:page>/", docs.api_docs, name="docs-api-page"),
    path("", include("dnspanel.web.settings.urls")),
    path("", include("dnspanel.web.zones.urls")),
    path("", include("dnspanel.web.alerts.urls")),
    path("", include("dnspanel.web.fleet.urls")),
    path("", include("dnspanel.web.access.urls")),
    path("", include("dnspanel.web.imports.urls")),
    path("", include("dnspanel.web.exports.urls")),
    path("", include("dnspanel.web.dnssec.urls")),
    path("", include("dnspanel.web.zone_tabs.urls")),
    path("", include("dnspanel.web.zone_templates.urls")),
    path("", include("dnspanel.web.editor.urls")),
]
