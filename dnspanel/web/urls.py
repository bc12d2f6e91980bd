"""URLs of the web face. The first word of a name says which entry of the navigation it belongs to."""

from allauth.account import views as allauth
from django.urls import include, path, register_converter
from django.views.generic import RedirectView

from dnspanel.web import account, layout, zones
from dnspanel.web.access import people, teams
from dnspanel.web.converters import ZoneNameConverter
from dnspanel.web.fleet import hold, join, keys, matrix, node, nodes, top

register_converter(ZoneNameConverter, "zone")

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="zone-list"), name="home"),
    path("healthz", account.healthz, name="healthz"),
    path("sign-in/", allauth.login, name="account_login"),
    path("sign-out/", allauth.logout, name="account_logout"),
    path("account/inactive/", allauth.account_inactive, name="account_inactive"),
    path("account/password/", account.change_password, name="account_change_password"),
    path("welcome/<str:secret>/", account.welcome, name="welcome"),
    path("frame/draft/", layout.draft_pill, name="draft-pill"),
    path("frame/fleet/", layout.fleet_pill, name="fleet-pill"),
    path("zones/", zones.zone_list, name="zone-list"),
    path("zones/new/", zones.zone_new, name="zone-new"),
    path("zones/trash/", zones.zone_trash, name="zone-trash"),
    path("zones/trash/<int:zone_id>/restore/", zones.zone_restore, name="zone-restore"),
    path("zones/<zone:zone_name>/delete/", zones.zone_delete, name="zone-delete"),
    path("zones/<zone:zone_name>/settings/", zones.zone_settings, name="zone-settings"),
    path("nodes/", nodes.node_list, name="node-list"),
    path("hold/", hold.hold_page, name="node-hold"),
    path("hold/again/", hold.hold_again, name="node-hold-again"),
    path("hold/decide/", hold.hold_decide, name="node-hold-decide"),
    path("hold/zones/<int:pk>/", hold.hold_zone, name="node-hold-zone"),
    path("add-node/", join.node_new, name="node-new"),
    path("fleet/rows/", nodes.node_rows, name="node-rows"),
    path("fleet/act/", nodes.node_acts, name="node-acts"),
    path("fleet/matrix/", matrix.node_matrix, name="node-matrix"),
    path("fleet/keys/", keys.node_keys, name="node-keys"),
    path("fleet/keys/<str:act>/", keys.node_keys_act, name="node-keys-act"),
    path("nodes/<slug:name>/", node.node_detail, name="node-detail"),
    path("nodes/<slug:name>/points/", node.node_points, name="node-points"),
    path("nodes/<slug:name>/top/", top.node_top, name="node-top"),
    path("nodes/<slug:name>/enrolment/", join.node_enrolment, name="node-enrolment"),
    path("nodes/<slug:name>/<str:act>/", node.node_act, name="node-act"),
    path("people/", people.people_list, name="people"),
    path("people/invite/", people.invite, name="people-invite"),
    path("people/<int:person_id>/role/", people.change_role, name="person-role"),
    path("people/<int:person_id>/active/", people.change_active, name="person-active"),
    path("people/<int:person_id>/", teams.person_detail, name="person-detail"),
    path("people/<int:person_id>/grant/", teams.person_grant, name="person-grant"),
    path("grants/<int:grant_id>/take/", teams.grant_take, name="grant-take"),
    path("teams/", teams.team_list, name="team-list"),
    path("teams/new/", teams.team_new, name="team-new"),
    path("teams/<int:team_id>/", teams.team_detail, name="team-detail"),
    path("teams/<int:team_id>/rename/", teams.team_rename, name="team-rename"),
    path("teams/<int:team_id>/delete/", teams.team_delete, name="team-delete"),
    path("teams/<int:team_id>/member/", teams.team_member, name="team-member"),
    path("teams/<int:team_id>/grant/", teams.team_grant, name="team-grant"),
    path("", include("dnspanel.web.alerts.urls")),
    path("", include("dnspanel.web.fleet.urls")),
    path("", include("dnspanel.web.access.urls")),
    path("", include("dnspanel.web.imports.urls")),
    path("", include("dnspanel.web.exports.urls")),
    path("", include("dnspanel.web.editor.urls")),
]
