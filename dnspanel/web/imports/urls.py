"""URLs of the import wizard, included by `web.urls`."""

from django.urls import path

from dnspanel.web.imports import choose, columns, dry_run, fix, pages, report, source, upload

urlpatterns = [
    path("imports/", pages.import_list, name="import-list"),
    path("imports/new/", source.import_new, name="import-new"),
    path("imports/new/<slug:source>/", source.import_new, name="import-source"),
    path("imports/<int:job_id>/", pages.import_detail, name="import-detail"),
    path("imports/<int:job_id>/upload/", upload.import_upload, name="import-upload"),
    path("imports/<int:job_id>/uploaded/", upload.import_uploaded, name="import-uploaded"),
    path("imports/<int:job_id>/columns/", columns.import_columns, name="import-columns"),
    path("imports/<int:job_id>/options/", choose.import_options, name="import-options"),
    path("imports/<int:job_id>/choices/", choose.import_choose, name="import-choose"),
    path("imports/<int:job_id>/zones/", choose.import_zones, name="import-zones"),
    path("imports/<int:job_id>/zones/<int:row_id>/", dry_run.import_zone, name="import-zone"),
    path("imports/<int:job_id>/dry-run/", dry_run.import_plan, name="import-plan"),
    path("imports/<int:job_id>/apply/", dry_run.import_apply, name="import-apply"),
    path("imports/<int:job_id>/dry-run-again/", dry_run.import_replan, name="import-replan"),
    path("imports/<int:job_id>/faults/", report.import_faults, name="import-faults"),
    path("imports/<int:job_id>/faults.csv", report.import_faults_csv, name="import-faults-csv"),
    path("imports/<int:job_id>/fix/", fix.import_fix, name="import-fix"),
    path("imports/<int:job_id>/undo/", report.import_undo, name="import-undo"),
    path("imports/<int:job_id>/delete/", pages.import_delete, name="import-delete"),
    path("imports/<int:job_id>/<slug:act>/", pages.import_act, name="import-act"),
]
