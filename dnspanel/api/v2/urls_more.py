"""URLs of API v2 beyond zones and what is published."""

from django.urls import URLPattern, path

from dnspanel.api.v2.resources import (
    audit,
    exports,
    grants,
    import_files,
    import_zones,
    imports,
    me,
    nodes,
    teams,
    tokens,
    tsig_keys,
    users,
    webhooks,
)
from dnspanel.api.v2.schema import openapi

_HOOK = "api/v2/webhooks/<int:webhook_id>"
_IMPORT = "api/v2/imports/<int:import_id>"

urlpatterns: list[URLPattern] = [
    path("api/v2/openapi.json", openapi.OpenApi.as_view(), name="v2-openapi"),
    path("api/v2/me", me.Me.as_view(), name="v2-me"),
    path("api/v2/imports", imports.Imports.as_view(), name="v2-imports"),
    path(_IMPORT, imports.OneImport.as_view(), name="v2-import"),
    path(f"{_IMPORT}/files", import_files.ImportFiles.as_view(), name="v2-import-files"),
    path(f"{_IMPORT}/files/<path:name>", import_files.ImportFile.as_view(), name="v2-import-file"),
    path(f"{_IMPORT}/zones", import_zones.ImportZones.as_view(), name="v2-import-zones"),
    path(f"{_IMPORT}/choices", import_zones.ImportChoices.as_view(), name="v2-import-choices"),
    path(f"{_IMPORT}/faults", import_zones.ImportFaults.as_view(), name="v2-import-faults"),
    path(f"{_IMPORT}/faults.csv", import_zones.ImportFaultsCsv.as_view(), name="v2-import-faults-csv"),
    path(f"{_IMPORT}/acts/<slug:act>", imports.ImportAct.as_view(), name="v2-import-act"),
    path("api/v2/exports", exports.Exports.as_view(), name="v2-exports"),
    path("api/v2/exports/<int:export_id>", exports.OneExport.as_view(), name="v2-export"),
    path("api/v2/exports/<int:export_id>/file", exports.ExportFile.as_view(), name="v2-export-file"),
    path("api/v2/nodes", nodes.Nodes.as_view(), name="v2-nodes"),
    path("api/v2/nodes/<str:name>", nodes.OneNode.as_view(), name="v2-node"),
    path("api/v2/nodes/<str:name>/points", nodes.NodePoints.as_view(), name="v2-node-points"),
    path("api/v2/nodes/<str:name>/acts/<slug:act>", nodes.NodeAct.as_view(), name="v2-node-act"),
    path("api/v2/users", users.Users.as_view(), name="v2-users"),
    path("api/v2/users/<int:user_id>", users.OneUser.as_view(), name="v2-user"),
    path("api/v2/users/<int:user_id>/rights", users.UserRights.as_view(), name="v2-user-rights"),
    path("api/v2/invitations", users.Invitations.as_view(), name="v2-invitations"),
    path("api/v2/teams", teams.Teams.as_view(), name="v2-teams"),
    path("api/v2/teams/<int:team_id>", teams.OneTeam.as_view(), name="v2-team"),
    path("api/v2/teams/<int:team_id>/members/<int:user_id>", teams.TeamMember.as_view(), name="v2-team-member"),
    path("api/v2/grants", grants.Grants.as_view(), name="v2-grants"),
    path("api/v2/grants/<int:grant_id>", grants.OneGrant.as_view(), name="v2-grant"),
    path("api/v2/tokens", tokens.Tokens.as_view(), name="v2-tokens"),
    path("api/v2/tokens/<int:token_id>", tokens.OneToken.as_view(), name="v2-token"),
    path("api/v2/tokens/<int:token_id>/rotate", tokens.TokenRotation.as_view(), name="v2-token-rotate"),
    path("api/v2/tsig-keys", tsig_keys.TsigKeys.as_view(), name="v2-tsig-keys"),
    path("api/v2/tsig-keys/<int:key_id>", tsig_keys.OneTsigKey.as_view(), name="v2-tsig-key"),
    path("api/v2/audit", audit.Audit.as_view(), name="v2-audit"),
    path("api/v2/webhooks", webhooks.Webhooks.as_view(), name="v2-webhooks"),
    path(_HOOK, webhooks.OneWebhook.as_view(), name="v2-webhook"),
    path(f"{_HOOK}/test", webhooks.WebhookTest.as_view(), name="v2-webhook-test"),
    path(f"{_HOOK}/rotate", webhooks.WebhookRotation.as_view(), name="v2-webhook-rotate"),
    path(f"{_HOOK}/deliveries", webhooks.Deliveries.as_view(), name="v2-deliveries"),
    path(f"{_HOOK}/deliveries/<int:delivery_id>/replay", webhooks.Replay.as_view(), name="v2-delivery-replay"),
]
