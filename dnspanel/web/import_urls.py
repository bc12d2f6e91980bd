"""URLs of the import wizard; included by `web.urls`."""

from django.urls import path

from dnspanel.web import (
    imports,
    imports_choose,
    imports_columns,
    imports_fix,
    imports_plan,
    imports_report,
    imports_source,
    imports_upload,
)

urlpatterns = [
    path("imports/", imports.import_list, name="import-list"),
    path("imports/new/", imports_source.import_new, name="import-new"),
    path("imports/new/<slug:source>/", imports_source.import_new, name="import-source"),
    path("imports/<int:job_id>/", imports.import_detail, name="import-detail"),
    path("imports/<int:job_id>/upload/", imports_upload.import_upload, name="import-upload"),
    path("imports/<int:job_id>/uploaded/", imports_upload.import_uploaded, name="import-uploaded"),
    path("imports/<int:job_id>/columns/", imports_columns.import_columns, name="import-columns"),
    path("imports/<int:job_id>/options/", imports_choose.import_options, name="import-options"),
    path("imports/<int:job_id>/choices/", imports_choose.import_choose, name="import-choose"),
    path("imports/<int:job_id>/zones/", imports_choose.import_zones, name="import-zones"),
    path("imports/<int:job_id>/zones/<int:row_id>/", imports_plan.import_zone, name="import-zone"),
    path("imports/<int:job_id>/dry-run/", imports_plan.import_plan, name="import-plan"),
    path("imports/<int:job_id>/apply/", imports_plan.import_apply, name="import-apply"),
    path("imports/<int:job_id>/dry-run-again/", imports_plan.import_replan, name="import-replan"),
    path("imports/<int:job_id>/faults/", imports_report.import_faults, name="import-faults"),
    path("imports/<int:job_id>/faults.csv", imports_report.import_faults_csv, name="import-faults-csv"),
    path("imports/<int:job_id>/fix/", imports_fix.import_fix, name="import-fix"),
    path("imports/<int:job_id>/undo/", imports_report.import_undo, name="import-undo"),
    path("imports/<int:job_id>/delete/", imports.import_delete, name="import-delete"),
    path("imports/<int:job_id>/<slug:act>/", imports.import_act, name="import-act"),
]
