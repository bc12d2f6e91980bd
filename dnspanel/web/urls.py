"""URLs of the web interface. The first word of a URL's name selects the current navigation entry."""

from allauth.account import views as allauth
from django.urls import include, path, register_converter

from dnspanel.web import docs
from dnspanel.web.access import quotas
from dnspanel.web.account import (
    invitations,
    oidc,
    own_language,
    own_time_zone,
    passkeys,
    passwords,
    saml,
    second_factor,
)
from dnspanel.web.calendar import pages as calendar
from dnspanel.web.converters import ZoneNameConverter
from dnspanel.web.dashboard import pages as dashboard
from dnspanel.web.frame import cli_file, layout, list_looks, one_time_page, saved_views

register_converter(ZoneNameConverter, "zone")

urlpatterns = [
    path("", dashboard.dashboard, name="home"),
    path("sign-in/", allauth.login, name="account_login"),
    path("sign-in/second-factor/", second_factor.sign_in, name="mfa_authenticate"),
    path("sign-in/passkey/", passkeys.sign_in, name="passkey-sign-in"),
    path("sign-out/", invitations.sign_out, name="account_logout"),
    path("sign-in/by/<slug:provider_id>/", oidc.begin, name="openid_connect_login"),
    path("sign-in/by/<slug:provider_id>/answer/", oidc.answer, name="openid_connect_callback"),
    path("sign-in/by/<slug:provider_id>/ended/", oidc.back_channel_logout, name="oidc-ended"),
    path("sign-in/by/<slug:provider_id>/acs/", saml.acs, name="saml-acs"),
    path("sign-in/by/<slug:provider_id>/finish/", saml.finish, name="saml-finish"),
    path("sign-in/by/<slug:provider_id>/metadata/", saml.metadata, name="saml-metadata"),
    path("account/inactive/", allauth.account_inactive, name="account_inactive"),
    path("account/here/", invitations.who_is_here, name="account-here"),
    path("account/password/", invitations.change_password, name="account_change_password"),
    path("account/signing-in/", second_factor.signing_in, name="account-signing-in"),
    path("account/signing-in/app/", second_factor.set_up_app, name="account-app"),
    path("account/signing-in/app/remove/", second_factor.remove_app, name="account-app-remove"),
    path("account/signing-in/codes/", second_factor.make_codes, name="account-codes"),
    path("account/signing-in/passkey/", passkeys.add_passkey, name="account-passkey"),
    path("account/signing-in/passkey/<int:passkey_id>/remove/", passkeys.remove_passkey, name="account-passkey-remove"),
    path("account/signing-in/sessions/", second_factor.end_sessions, name="account-sessions"),
    path("account/quotas/", quotas.own_quotas, name="account-quotas"),
    path("language/", own_language.choose_language, name="language"),
    path("account/time-zone/", own_time_zone.own_time_zone, name="account-time-zone"),
    path("account/lists/<str:of>/", list_looks.list_look, name="list-look"),
    path("account/providers/", oidc.own_providers, name="account-providers"),
    path("account/providers/<int:provider_id>/link/", oidc.link, name="account-provider-link"),
    path("account/providers/<int:ldap_id>/password/", oidc.link_password, name="account-provider-password"),
    path("account/providers/<int:provider_id>/unlink/", oidc.unlink, name="account-provider-unlink"),
    path("views/", saved_views.saved_view_list, name="zone-views"),
    path("views/<int:view_id>/", saved_views.saved_view, name="zone-view"),
    path("views/<int:view_id>/delete/", saved_views.saved_view_delete, name="zone-view-delete"),
    path("once/<str:key>/", one_time_page.one_time_page, name="one-time-page"),
    path("password/", passwords.forgotten, name="password-forgotten"),
    path("password/<str:link>/", passwords.by_link, name="password-link"),
    path("welcome/<str:secret>/", invitations.welcome, name="welcome"),
    path("frame/draft/", layout.draft_pill, name="draft-pill"),
    path("frame/fleet/", layout.fleet_pill, name="fleet-pill"),
    path("cli/dnspanel", cli_file.download, name="docs-cli-file"),
    path("docs/api/", docs.api_docs, name="docs-api"),
    path("docs/api/openapi.json", docs.api_document, name="docs-api-document"),
    path("docs/api/<slug:page>/", docs.api_docs, name="docs-api-page"),
    path("changes/calendar/", calendar.calendar, name="changes-calendar"),
    path("changes/calendar/feed/", calendar.feed_new, name="changes-calendar-feed"),
    path("calendar/<str:secret>/dnspanel.ics", calendar.feed, name="calendar-feed"),
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
