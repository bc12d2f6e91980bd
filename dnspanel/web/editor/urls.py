"""URLs of the zone editor, review and history; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.editor import copy_to, expiry, many, many_zones, paste, pins, ptr, rrsets, table, targets, text
from dnspanel.web.editor.history import history, publication, publications
from dnspanel.web.editor.review import named_drafts, requests, review
from dnspanel.web.editor.typed import builders, typed

urlpatterns = [
    path("zones/<zone:zone_name>/", table.zone_detail, name="zone-detail"),
    path("zones/<zone:zone_name>/news/", table.zone_news, name="zone-news"),
    path("zones/<zone:zone_name>/sync/", table.zone_sync, name="zone-sync"),
    path("zones/<zone:zone_name>/quick/", table.quick_add, name="zone-quick"),
    path("zones/<zone:zone_name>/paste/", paste.zone_paste, name="zone-paste"),
    path("zones/<zone:zone_name>/text/", text.zone_text_edit, name="zone-text"),
    path("zones/<zone:zone_name>/copy/", copy_to.zone_copy, name="zone-copy"),
    path("zones/<zone:zone_name>/many/", many.zone_many, name="zone-many"),
    path("zones/<zone:zone_name>/rrset/", rrsets.rrset_edit, name="zone-rrset"),
    path("zones/<zone:zone_name>/rrset/row/", rrsets.rrset_row, name="zone-rrset-row"),
    path("zones/<zone:zone_name>/rrset/delete/", rrsets.rrset_delete, name="zone-rrset-delete"),
    path("zones/<zone:zone_name>/rrset/undo/", rrsets.rrset_undo, name="zone-rrset-undo"),
    path("zones/<zone:zone_name>/rrset/expiry/", expiry.rrset_expiry, name="zone-expiry"),
    path("zones/<zone:zone_name>/rrset/form/", typed.zone_typed, name="zone-typed"),
    path("zones/<zone:zone_name>/builders/", builders.zone_builders, name="zone-builders"),
    path("zones/<zone:zone_name>/builders/<slug:key>/", builders.zone_builder, name="zone-builder"),
    path("zones/<zone:zone_name>/ptr/", ptr.zone_ptr, name="zone-ptr"),
    path("zones/<zone:zone_name>/discard/", rrsets.draft_discard, name="zone-discard"),
    path("zones/<zone:zone_name>/review/", review.zone_review, name="zone-review"),
    path("zones/<zone:zone_name>/targets/", targets.zone_targets, name="zone-targets"),
    path("zones/<zone:zone_name>/history/", history.zone_history, name="zone-history"),
    path("zones/<zone:zone_name>/history/compare/", history.zone_compare, name="zone-compare"),
    path("zones/<zone:zone_name>/history/record/", history.record_history, name="zone-record-history"),
    path("zones/<zone:zone_name>/history/<int:number>/", history.zone_revision, name="zone-revision"),
    path("zones/<zone:zone_name>/history/<int:number>/file/", history.revision_file, name="zone-revision-file"),
    path("zones/<zone:zone_name>/history/<int:number>/undo/", history.revision_undo, name="zone-revision-undo"),
    path("zones/<zone:zone_name>/history/<int:number>/return/", history.zone_return, name="zone-return"),
    path("changes/", review.draft_review, name="changes"),
    path("changes/many/", many_zones.changes_many, name="changes-many"),
    path("changes/discard/", review.draft_discard, name="changes-discard"),
    path("changes/discarded/<int:draft_id>/", review.draft_take_back, name="changes-take-back"),
    path("changes/<int:operation_id>/resolve/", review.conflict_resolve, name="changes-resolve"),
    path("drafts/", named_drafts.draft_list, name="draft-list"),
    path("drafts/aside/", named_drafts.draft_aside, name="draft-aside"),
    path("drafts/<uuid:draft_key>/", named_drafts.draft_detail, name="draft-detail"),
    path("drafts/<uuid:draft_key>/<slug:act>/", named_drafts.draft_act, name="draft-act"),
    path("requests/", requests.request_list, name="draft-requests"),
    path("requests/<uuid:request_key>/", requests.request_detail, name="draft-request"),
    path("requests/<uuid:request_key>/<slug:act>/", requests.request_act, name="draft-request-act"),
    path("zones/<zone:zone_name>/pin/", pins.zone_pin, name="zone-pin"),
    path("publications/", publications.publication_list, name="publication-list"),
    path("publications/<int:sequence>/", publication.publication, name="publication"),
    path("publications/<int:sequence>/undo/", publication.publication_undo, name="publication-undo"),
    path("publications/<int:sequence>/again/", publication.publication_again, name="publication-again"),
]
