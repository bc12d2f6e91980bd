"""URLs of people, teams, tokens, webhooks and the audit log; included by `web.urls`."""

from django.urls import path

from dnspanel.web.access import audit, people, quotas, teams, tokens, webhooks

urlpatterns = [
    path("people/", people.people_list, name="people"),
    path("people/invite/", people.invite, name="people-invite"),
    path("people/<int:person_id>/role/", people.change_role, name="person-role"),
    path("people/<int:person_id>/active/", people.change_active, name="person-active"),
    path("people/<int:person_id>/", teams.person_detail, name="person-detail"),
    path("people/<int:person_id>/grant/", teams.person_grant, name="person-grant"),
    path("people/<int:person_id>/quotas/", quotas.person_quotas, name="person-quotas"),
    path("grants/<int:grant_id>/take/", teams.grant_take, name="grant-take"),
    path("teams/", teams.team_list, name="team-list"),
    path("teams/new/", teams.team_new, name="team-new"),
    path("teams/<int:team_id>/", teams.team_detail, name="team-detail"),
    path("teams/<int:team_id>/rename/", teams.team_rename, name="team-rename"),
    path("teams/<int:team_id>/delete/", teams.team_delete, name="team-delete"),
    path("teams/<int:team_id>/member/", teams.team_member, name="team-member"),
    path("teams/<int:team_id>/grant/", teams.team_grant, name="team-grant"),
    path("teams/<int:team_id>/quotas/", quotas.team_quotas, name="team-quotas"),
    path("tokens/", tokens.token_list, name="token-list"),
    path("tokens/new/<slug:preset>/", tokens.token_new, name="token-new"),
    path("tokens/<int:token_id>/", tokens.token_detail, name="token-detail"),
    path("tokens/<int:token_id>/rotate/", tokens.token_rotate, name="token-rotate"),
    path("tokens/<int:token_id>/revoke/", tokens.token_revoke, name="token-revoke"),
    path("webhooks/", webhooks.webhook_list, name="webhook-list"),
    path("webhooks/new/", webhooks.webhook_new, name="webhook-new"),
    path("webhooks/<int:webhook_id>/", webhooks.webhook_detail, name="webhook-detail"),
    path("webhooks/<int:webhook_id>/change/", webhooks.webhook_change, name="webhook-change"),
    path("webhooks/<int:webhook_id>/ping/", webhooks.webhook_ping, name="webhook-ping"),
    path("webhooks/<int:webhook_id>/switch/", webhooks.webhook_switch, name="webhook-switch"),
    path("webhooks/<int:webhook_id>/rotate/", webhooks.webhook_rotate, name="webhook-rotate"),
    path("webhooks/<int:webhook_id>/delete/", webhooks.webhook_delete, name="webhook-delete"),
    path("webhooks/deliveries/<int:delivery_id>/replay/", webhooks.webhook_replay, name="webhook-replay"),
    path("audit/", audit.audit_log, name="audit-log"),
    path("audit/check/", audit.audit_check, name="audit-check"),
    path("audit/export.<slug:format>", audit.audit_export, name="audit-export"),
    path("audit/<slug:kind>/<int:id>/", audit.audit_act, name="audit-act"),
]
