"""URLs of DNSSEC pages, included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.dnssec import other_keys, pages, policies, policy_runs, rollovers, zone_keys

urlpatterns = [
    path("zones/<zone:zone_name>/dnssec/", pages.zone_dnssec, name="zone-dnssec"),
    path("zones/<zone:zone_name>/dnssec/nodes/", pages.dnssec_nodes, name="zone-dnssec-nodes"),
    path("zones/<zone:zone_name>/dnssec/answers/", pages.dnssec_answers, name="zone-dnssec-answers"),
    path("zones/<zone:zone_name>/dnssec/parent/", pages.dnssec_parent, name="zone-dnssec-parent"),
    path("zones/<zone:zone_name>/dnssec/sign/", pages.dnssec_sign, name="zone-dnssec-sign"),
    path("zones/<zone:zone_name>/dnssec/unsign/", pages.dnssec_unsign, name="zone-dnssec-unsign"),
    path("zones/<zone:zone_name>/dnssec/denial/", pages.dnssec_denial, name="zone-dnssec-denial"),
    path("zones/<zone:zone_name>/dnssec/cds/", pages.dnssec_cds, name="zone-dnssec-cds"),
    path("zones/<zone:zone_name>/dnssec/drop/", pages.dnssec_drop, name="zone-dnssec-drop"),
    path("zones/<zone:zone_name>/dnssec/signalling/", pages.dnssec_signalling, name="zone-dnssec-signalling"),
    path("zones/<zone:zone_name>/dnssec/rollover/", rollovers.rollover_card, name="zone-dnssec-rollover"),
    path("zones/<zone:zone_name>/dnssec/rollover/begin/", rollovers.rollover_begin, name="zone-dnssec-rollover-begin"),
    path(
        "zones/<zone:zone_name>/dnssec/rollover/cancel/", rollovers.rollover_cancel, name="zone-dnssec-rollover-cancel"
    ),
    path("zones/<zone:zone_name>/dnssec/emergency/", rollovers.rollover_emergency, name="zone-dnssec-emergency"),
    path("zones/<zone:zone_name>/dnssec/policy/", policies.zone_policy, name="zone-dnssec-policy"),
    path("zones/<zone:zone_name>/dnssec/follow/", policies.zone_follow, name="zone-dnssec-follow"),
    path("zones/<zone:zone_name>/dnssec/other-keys/", other_keys.other_key_add, name="zone-dnssec-other-key-add"),
    path(
        "zones/<zone:zone_name>/dnssec/other-keys/<int:tag>/remove/",
        other_keys.other_key_remove,
        name="zone-dnssec-other-key-remove",
    ),
    path("zones/<zone:zone_name>/dnssec/keys/", zone_keys.key_add, name="zone-dnssec-key-add"),
    path("zones/<zone:zone_name>/dnssec/keys/<int:key_id>/", zone_keys.key_set, name="zone-dnssec-key"),
    path(
        "zones/<zone:zone_name>/dnssec/keys/<int:key_id>/delete/", zone_keys.key_delete, name="zone-dnssec-key-delete"
    ),
    path(
        "zones/<zone:zone_name>/dnssec/keys/<int:key_id>/export/", zone_keys.key_export, name="zone-dnssec-key-export"
    ),
    path("dnssec/rollovers/", rollovers.rollover_list, name="zone-rollovers"),
    path("dnssec/policies/", policies.policy_list, name="zone-policies"),
    path("dnssec/policies/new/", policies.policy_new, name="zone-policy-new"),
    path("dnssec/policies/<int:policy_id>/", policies.policy_detail, name="zone-policy"),
    path("dnssec/policies/<int:policy_id>/attach/", policies.policy_attach, name="zone-policy-attach"),
    path("dnssec/policies/<int:policy_id>/detach/", policies.policy_detach, name="zone-policy-detach"),
    path("dnssec/policies/<int:policy_id>/delete/", policies.policy_delete, name="zone-policy-delete"),
    path("dnssec/runs/", policy_runs.run_list, name="zone-policy-runs"),
    path("dnssec/runs/<int:run_id>/", policy_runs.run_detail, name="zone-policy-run"),
    path("dnssec/runs/<int:run_id>/apply/", policy_runs.run_apply, name="zone-policy-run-apply"),
    path("dnssec/runs/<int:run_id>/cancel/", policy_runs.run_cancel, name="zone-policy-run-cancel"),
]
