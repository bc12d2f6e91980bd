"""URLs of API v2; none ends in a slash. Whatever is not here is answered by `NothingHere`, with a problem too."""

from django.urls import URLPattern, path, re_path

from dnspanel.api.v2.http import problem_pages
from dnspanel.api.v2.http.view import NothingHere
from dnspanel.api.v2.resources import changes, drafts, publications, revisions, rrsets, search, zones
from dnspanel.api.v2.urls_more import urlpatterns as more

_ZONE = "api/v2/zones/<str:zone_name>"
_RRSET = "rrsets/<str:owner>/<str:type_name>"
_REVISION = f"{_ZONE}/revisions/<int:number>"
_PUBLICATION = "api/v2/publications/<int:sequence>"

urlpatterns: list[URLPattern] = [
    path("api/v2/problems", problem_pages.KindList.as_view(), name="v2-problems"),
    path("api/v2/problems/<slug:code>", problem_pages.KindDetail.as_view(), name="v2-problem"),
    path("api/v2/zones", zones.ZoneList.as_view(), name="v2-zones"),
    path(_ZONE, zones.ZoneDetail.as_view(), name="v2-zone"),
    path(f"{_ZONE}/rrsets", rrsets.RRsetList.as_view(), name="v2-rrsets"),
    path(f"{_ZONE}/{_RRSET}", rrsets.RRsetDetail.as_view(), name="v2-rrset"),
    path(f"{_ZONE}/changes", changes.ZoneChanges.as_view(), name="v2-zone-changes"),
    path(f"{_ZONE}/revisions", revisions.RevisionList.as_view(), name="v2-revisions"),
    path(_REVISION, revisions.RevisionDetail.as_view(), name="v2-revision"),
    path(f"{_REVISION}/rrsets", revisions.RevisionRRsets.as_view(), name="v2-revision-rrsets"),
    path(f"{_REVISION}/undo", revisions.RevisionUndo.as_view(), name="v2-revision-undo"),
    path(f"{_REVISION}/restore", revisions.ZoneRestoreTo.as_view(), name="v2-revision-restore"),
    path("api/v2/bulk", changes.Bulk.as_view(), name="v2-bulk"),
    path("api/v2/search", search.Search.as_view(), name="v2-search"),
    path("api/v2/trash", zones.TrashList.as_view(), name="v2-trash"),
    path("api/v2/trash/<int:zone_id>/restore", zones.TrashRestore.as_view(), name="v2-trash-restore"),
    path("api/v2/draft", drafts.DraftDetail.as_view(), name="v2-draft"),
    path("api/v2/draft/operations", drafts.DraftOperations.as_view(), name="v2-draft-operations"),
    path(
        "api/v2/draft/operations/<int:operation_id>/resolve", drafts.ConflictResolve.as_view(), name="v2-draft-resolve"
    ),
    path(f"api/v2/draft/zones/<str:zone_name>/{_RRSET}", drafts.DraftRRset.as_view(), name="v2-draft-rrset"),
    path("api/v2/draft/plan", drafts.DraftPlan.as_view(), name="v2-draft-plan"),
    path("api/v2/draft/publish", drafts.DraftPublish.as_view(), name="v2-draft-publish"),
    path("api/v2/publications", publications.PublicationList.as_view(), name="v2-publications"),
    path(_PUBLICATION, publications.PublicationDetail.as_view(), name="v2-publication"),
    path(f"{_PUBLICATION}/undo", revisions.PublicationUndo.as_view(), name="v2-publication-undo"),
    *more,
    re_path(r"^api/v2(?:/.*)?$", NothingHere.as_view(), name="v2-nothing"),
]
