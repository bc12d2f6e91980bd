"""URLs of API v2; none ends in a slash. Whatever is not here is answered by `NothingHere`, with a problem too.

A zone's name may have slashes, so that what is longer stands first.
"""

from django.urls import URLPattern, path, re_path

from dnspanel.api.v2.http.view import NothingHere
from dnspanel.api.v2.resources import (
    audit,
    changes,
    dnssec,
    dnssec_keys,
    dnssec_policies,
    dnssec_policy_runs,
    dnssec_rollovers,
    drafts,
    exports,
    grants,
    import_files,
    import_zones,
    imports,
    me,
    nodes,
    openapi,
    problem_pages,
    publications,
    quotas,
    revisions,
    rrsets,
    search,
    teams,
    tokens,
    tsig_keys,
    users,
    webhooks,
    zones,
)

_ZONE = "api/v2/zones/<name:zone_name>"
_RRSET = "rrsets/<name:owner>/<str:type_name>"
_DNSSEC_KEY = f"{_ZONE}/dnssec/keys/<int:key_id>"
_ROLLOVERS = f"{_ZONE}/dnssec/rollovers"
_REVISION = f"{_ZONE}/revisions/<int:number>"
_PUBLICATION = "api/v2/publications/<int:sequence>"
_HOOK = "api/v2/webhooks/<int:webhook_id>"
_POLICY_RUN = "api/v2/dnssec/policy-runs/<int:run_id>"
_IMPORT = "api/v2/imports/<int:import_id>"

urlpatterns: list[URLPattern] = [
    path("api/v2/problems", problem_pages.KindList.as_view(), name="v2-problems"),
    path("api/v2/problems/<slug:code>", problem_pages.KindDetail.as_view(), name="v2-problem"),
    path("api/v2/zones", zones.ZoneList.as_view(), name="v2-zones"),
    path(f"{_ZONE}/revisions", revisions.RevisionList.as_view(), name="v2-revisions"),
    path(_REVISION, revisions.RevisionDetail.as_view(), name="v2-revision"),
    path(f"{_REVISION}/rrsets", revisions.RevisionRRsets.as_view(), name="v2-revision-rrsets"),
    path(f"{_REVISION}/undo", revisions.RevisionUndo.as_view(), name="v2-revision-undo"),
    path(f"{_REVISION}/restore", revisions.ZoneRestoreTo.as_view(), name="v2-revision-restore"),
    path(f"{_ZONE}/rrsets", rrsets.RRsetList.as_view(), name="v2-rrsets"),
    path(f"{_ZONE}/{_RRSET}", rrsets.RRsetDetail.as_view(), name="v2-rrset"),
    path(f"{_ZONE}/dnssec/policy", dnssec_policies.ZonePolicy.as_view(), name="v2-zone-policy"),
    path(f"{_ZONE}/changes", changes.ZoneChanges.as_view(), name="v2-zone-changes"),
    path(f"{_ZONE}/dnssec", dnssec.ZoneDnssec.as_view(), name="v2-dnssec"),
    path(f"{_ZONE}/dnssec/keys", dnssec_keys.DnssecKeys.as_view(), name="v2-dnssec-keys"),
    path(_DNSSEC_KEY, dnssec_keys.DnssecKey.as_view(), name="v2-dnssec-key"),
    path(f"{_DNSSEC_KEY}/export", dnssec_keys.DnssecKeyExport.as_view(), name="v2-dnssec-key-export"),
    path(f"{_ZONE}/dnssec/rollover-kinds", dnssec_rollovers.RolloverKinds.as_view(), name="v2-rollover-kinds"),
    path(_ROLLOVERS, dnssec_rollovers.ZoneRollovers.as_view(), name="v2-zone-rollovers"),
    path(f"{_ROLLOVERS}/<int:rollover_id>", dnssec_rollovers.OneRollover.as_view(), name="v2-rollover"),
    path(
        f"{_ROLLOVERS}/<int:rollover_id>/cancel", dnssec_rollovers.RolloverCancel.as_view(), name="v2-rollover-cancel"
    ),
    path(_ZONE, zones.ZoneDetail.as_view(), name="v2-zone"),
    path("api/v2/bulk/deletions", zones.Deletions.as_view(), name="v2-deletions"),
    path("api/v2/bulk/dnssec", dnssec.BulkDnssec.as_view(), name="v2-bulk-dnssec"),
    path("api/v2/bulk", changes.Bulk.as_view(), name="v2-bulk"),
    path("api/v2/search", search.Search.as_view(), name="v2-search"),
    path("api/v2/trash", zones.TrashList.as_view(), name="v2-trash"),
    path("api/v2/trash/<int:zone_id>/restore", zones.TrashRestore.as_view(), name="v2-trash-restore"),
    path("api/v2/draft", drafts.DraftDetail.as_view(), name="v2-draft"),
    path("api/v2/draft/operations", drafts.DraftOperations.as_view(), name="v2-draft-operations"),
    path(
        "api/v2/draft/operations/<int:operation_id>/resolve", drafts.ConflictResolve.as_view(), name="v2-draft-resolve"
    ),
    path(f"api/v2/draft/zones/<name:zone_name>/{_RRSET}", drafts.DraftRRset.as_view(), name="v2-draft-rrset"),
    path("api/v2/draft/plan", drafts.DraftPlan.as_view(), name="v2-draft-plan"),
    path("api/v2/draft/publish", drafts.DraftPublish.as_view(), name="v2-draft-publish"),
    path("api/v2/publications", publications.PublicationList.as_view(), name="v2-publications"),
    path(_PUBLICATION, publications.PublicationDetail.as_view(), name="v2-publication"),
    path(f"{_PUBLICATION}/undo", revisions.PublicationUndo.as_view(), name="v2-publication-undo"),
    path("api/v2/openapi.json", openapi.OpenApi.as_view(), name="v2-openapi"),
    path("api/v2/me", me.Me.as_view(), name="v2-me"),
    path("api/v2/me/quotas", quotas.OwnQuotas.as_view(), name="v2-my-quotas"),
    path("api/v2/imports", imports.Imports.as_view(), name="v2-imports"),
    path(_IMPORT, imports.OneImport.as_view(), name="v2-import"),
    path(f"{_IMPORT}/files", import_files.ImportFiles.as_view(), name="v2-import-files"),
    path(f"{_IMPORT}/files/<path:name>", import_files.ImportFile.as_view(), name="v2-import-file"),
    path(f"{_IMPORT}/zones", import_zones.ImportZones.as_view(), name="v2-import-zones"),
    path(f"{_IMPORT}/choices", import_zones.ImportChoices.as_view(), name="v2-import-choices"),
    path(f"{_IMPORT}/faults", import_zones.ImportFaults.as_view(), name="v2-import-faults"),
    path(f"{_IMPORT}/faults.csv", import_zones.ImportFaultsCsv.as_view(), name="v2-import-faults-csv"),
    path(f"{_IMPORT}/acts/<slug:act>", imports.ImportAct.as_view(), name="v2-import-act"),
    path("api/v2/dnssec/policies", dnssec_policies.DnssecPolicies.as_view(), name="v2-dnssec-policies"),
    path("api/v2/dnssec/policies/<int:policy_id>", dnssec_policies.OneDnssecPolicy.as_view(), name="v2-dnssec-policy"),
    path("api/v2/dnssec/policy-runs", dnssec_policy_runs.PolicyRuns.as_view(), name="v2-policy-runs"),
    path(f"{_POLICY_RUN}/zones", dnssec_policy_runs.PolicyRunZones.as_view(), name="v2-policy-run-zones"),
    path(_POLICY_RUN, dnssec_policy_runs.OnePolicyRun.as_view(), name="v2-policy-run"),
    path("api/v2/dnssec/rollovers", dnssec_rollovers.RolloversUnderWay.as_view(), name="v2-rollovers"),
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
    path("api/v2/teams/<int:team_id>/quotas", quotas.TeamQuotas.as_view(), name="v2-team-quotas"),
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
    re_path(r"^api/v2(?:/[\s\S]*)?$", NothingHere.as_view(), name="v2-nothing"),
]
