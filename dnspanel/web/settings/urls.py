"""URLs of the settings, included by `web.urls`."""

from django.urls import path

from dnspanel.web.settings import evidence, pages, publish_hooks, publish_rules

urlpatterns = [
    path("settings/", pages.settings_page, name="settings"),
    path("settings/doctor/", pages.doctor_page, name="settings-doctor"),
    path("settings/zones/", pages.settings_zones, name="settings-zones"),
    path("settings/approvals/", publish_rules.approval_rules, name="settings-approvals"),
    path("settings/approvals/<int:rule_id>/lift/", publish_rules.approval_rule_lift, name="settings-approval-lift"),
    path("settings/freezes/", publish_rules.freezes, name="settings-freezes"),
    path("settings/freezes/<int:freeze_id>/lift/", publish_rules.freeze_lift, name="settings-freeze-lift"),
    path("settings/hooks/", publish_hooks.hooks, name="settings-hooks"),
    path("settings/hooks/<int:hook_id>/", publish_hooks.hook_detail, name="settings-hook"),
    path("settings/hooks/<int:hook_id>/test/", publish_hooks.hook_test, name="settings-hook-test"),
    path("settings/hooks/<int:hook_id>/rotate/", publish_hooks.hook_rotate, name="settings-hook-rotate"),
    path("settings/hooks/<int:hook_id>/lift/", publish_hooks.hook_lift, name="settings-hook-lift"),
    path("settings/evidence/", evidence.evidence_list, name="settings-evidence"),
    path("settings/evidence/new/", evidence.evidence_new, name="settings-evidence-new"),
    path("settings/evidence/<int:destination_id>/", evidence.evidence_detail, name="settings-evidence-detail"),
    path("settings/evidence/<int:destination_id>/switch/", evidence.evidence_switch, name="settings-evidence-switch"),
    path("settings/evidence/<int:destination_id>/test/", evidence.evidence_test, name="settings-evidence-test"),
    path("settings/evidence/<int:destination_id>/delete/", evidence.evidence_delete, name="settings-evidence-delete"),
]
