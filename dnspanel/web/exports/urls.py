"""URLs of exports and comparisons, included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.exports import cutovers, pages

urlpatterns = [
    path("zones/<zone:zone_name>/export/", pages.zone_export, name="zone-export"),
    path("zones/<zone:zone_name>/export/<slug:file_format>/", pages.zone_export_file, name="zone-export-file"),
    path("exports/", pages.export_list, name="zone-exports"),
    path("exports/<int:export_id>/", pages.export_job, name="zone-export-job"),
    path("exports/<int:export_id>/cancel/", pages.export_cancel, name="zone-export-cancel"),
    path("exports/<int:export_id>/file/", pages.export_download, name="zone-export-download"),
    path("comparisons/", cutovers.cutover_list, name="import-cutovers"),
    path("comparisons/<int:check_id>/", cutovers.cutover_detail, name="import-cutover"),
    path("comparisons/<int:check_id>/cancel/", cutovers.cutover_cancel, name="import-cutover-cancel"),
    path("comparisons/<int:check_id>/differences.csv", cutovers.cutover_csv, name="import-cutover-csv"),
    path("comparisons/<int:check_id>/<zone:zone_name>/", cutovers.cutover_zone, name="import-cutover-zone"),
]
