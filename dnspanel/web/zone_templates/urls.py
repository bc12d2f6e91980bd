"""URLs of templates, included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.zone_templates import pages, runs, servers, vanity, zone

urlpatterns = [
    path("settings/templates/", pages.template_list, name="template-list"),
    path("settings/templates/new/", pages.template_new, name="template-new"),
    path("settings/templates/<int:template_id>/", pages.template_detail, name="template-detail"),
    path("settings/templates/<int:template_id>/edit/", pages.template_edit, name="template-edit"),
    path("settings/templates/<int:template_id>/name/", pages.template_head, name="template-head"),
    path(
        "settings/templates/<int:template_id>/versions/<int:number>/", pages.template_version, name="template-version"
    ),
    path("settings/templates/<int:template_id>/zones/", pages.template_zones, name="template-zones"),
    path("settings/templates/<int:template_id>/delete/", pages.template_delete, name="template-delete"),
    path("settings/templates/<int:template_id>/runs/", runs.template_runs, name="template-runs"),
    path("settings/templates/runs/<int:template_run_id>/", runs.template_run, name="template-run"),
    path("settings/templates/runs/<int:template_run_id>/apply/", runs.template_run_apply, name="template-run-apply"),
    path("settings/templates/runs/<int:template_run_id>/cancel/", runs.template_run_cancel, name="template-run-cancel"),
    path("settings/name-servers/", servers.server_set_list, name="server-set-list"),
    path("settings/name-servers/new/", servers.server_set_new, name="server-set-new"),
    path("settings/name-servers/<int:set_id>/", servers.server_set_edit, name="server-set-edit"),
    path("settings/name-servers/<int:set_id>/addresses/", vanity.server_set_addresses, name="server-set-addresses"),
    path("settings/name-servers/<int:set_id>/default/", servers.server_set_default, name="server-set-default"),
    path("zones/<zone:zone_name>/templates/", zone.zone_templates, name="zone-templates"),
    path("zones/<zone:zone_name>/templates/<int:template_id>/", zone.zone_template, name="zone-template"),
    path(
        "zones/<zone:zone_name>/templates/<int:template_id>/unlink/",
        zone.zone_template_unlink,
        name="zone-template-unlink",
    ),
]
