"""Views that show and edit a row, undo its change, or discard the zone's draft. They change only the draft."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.lines.additions import FALLBACK_TTL
from dnspanel.web.editor.lines.rrset_form import RRsetForm, digest_of
from dnspanel.web.editor.ptr import follow, is_ticked, tell_of_left, tick_of_row, with_offer
from dnspanel.web.editor.rows.blocking import with_blocking
from dnspanel.web.editor.rows.row_answers import with_answers
from dnspanel.web.editor.rows.row_expiries import with_expiries
from dnspanel.web.editor.rows.row_rights import with_rights
from dnspanel.web.editor.rows.type_filter import TYPE_NAMES
from dnspanel.web.editor.table import default_ttl, table_rows
from dnspanel.web.editor.zone_head import focus_after, render_zone, with_draft_state
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.web.frame.rows import DisplayRow, row_id
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.discarded import discard
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing.pointers import ADDRESS_TYPES
from dnspanel.zones.rights import access
from dnspanel.zones.typed.layouts import LAYOUTS
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset
from replication.errors import ReplicationError

Key = tuple[str, int]
FIELDS = {"name", "type", "ttl", "values", "comment", "tags"}


def rrset_of_request(request: HttpRequest, zone: Zone) -> Key | None:
    """Return `name` and `type` from the URL, or None if either is invalid or the name is outside this zone."""
    try:
        name = names.parse(request.GET.get("name", ""))
        type_ = rdata.type_from_text(request.GET.get("type", ""))
    except ReplicationError:
        return None
    return (name, type_) if names.is_within(name, zone.name) else None


def row_of(request: PanelRequest, zone: Zone, key: Key) -> rrset_pages.RRsetRow:
    """Return the RRset as published and as in the author's draft."""
    return rrset_pages.rrset_row(zone=zone, author=request.user, name=key[0], type=key[1])


def require_rrset(request: HttpRequest, zone: Zone) -> Key:
    """Return `name` and `type` from the URL. Raise Unknown if either is invalid or the name is outside this zone."""
    key = rrset_of_request(request, zone)
    if key is None:
        raise access.Unknown(request.GET.get("name", ""))
    return key


def back_to_row(zone: Zone, key: Key) -> HttpResponse:
    """Redirect to this RRset's row in the editor."""
    return redirect(f"{reverse('zone-detail', args=[zone.name])}#{row_id(*key)}")


def way_back(zone: Zone, came_from: str) -> str:
    """Return the URL of the review page that the user came from, or "" if the user came from the editor."""
    if came_from == "changes":
        return reverse("changes")
    return reverse("zone-review", args=[zone.name]) if came_from == "review" else ""


# Showing a row


@require_safe
def rrset_row(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show one row: short, with all values (`all`) or the old ones (`old`). Without htmx, redirect to the row."""
    zone = access.zone_for_reading(request.user, zone_name)
    key = require_rrset(request, zone)
    if not is_fragment(request):
        return back_to_row(zone, key)
    display = DisplayRow(
        zone.name, row_of(request, zone, key), all_values="all" in request.GET, show_old="old" in request.GET
    )
    return _show_row(request, zone, display)


def _show_row(request: PanelRequest, zone: Zone, display: DisplayRow) -> HttpResponse:
    if not display.exists:
        return HttpResponse()  # the draft had added this RRset, so the row is removed
    displayed = with_expiries(zone, with_answers(zone, [display]))
    [row] = with_blocking(request, zone, with_rights(request.user, zone, displayed))
    context = {"zone": zone, "row": row, "may_edit": access.may_edit_here(request.user, zone)}
    response = render(request, "editor/_rrset_row.html", context)
    return focus_after(response, f"#{display.id} .row-link")


# Editing a row


@require_http_methods(["GET", "HEAD", "POST"])
def rrset_edit(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the form for an existing or a new RRset. A POST adds the RRset to the draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    if request.method == "POST":
        return _save(request, zone)
    key = rrset_of_request(request, zone)
    row = row_of(request, zone, key) if key else None
    display = (row.change.after or row.change.before) if row else None
    if display is None:
        initial: dict[str, object] = {"base_revision": zone.revision}
    else:
        initial = RRsetForm.initial_for(zone.name, display, base_revision=zone.revision)
    form = RRsetForm(initial=initial, zone_name=zone.name, default_ttl=default_ttl(request, zone))
    return _show_form(request, zone, form, display, can_expire=row is not None and _can_expire(request, zone, row))


def _can_expire(request: PanelRequest, zone: Zone, row: rrset_pages.RRsetRow) -> bool:
    """Return True for a published RRset that the person can delete, except the SOA and NS at the apex."""
    is_needed = row.change.name == zone.name and row.change.type in {rdtypes.SOA, rdtypes.NS}
    [display] = with_rights(request.user, zone, [DisplayRow(zone.name, row)])
    return row.change.before is not None and display.may_remove and not is_needed


def _show_form(
    request: PanelRequest,
    zone: Zone,
    form: RRsetForm,
    current: RRset | None = None,
    status: int = 200,
    *,
    can_expire: bool = False,
) -> HttpResponse:
    values = str(form["values"].value() or "")
    came_from = (request.POST if request.method == "POST" else request.GET).get("from", "")
    context: dict[str, object] = {
        "form": form,
        "all_types": TYPE_NAMES,
        "row_id": form.row_id,
        "ptr": tick_of_row(request, str(form["type"].value() or ""), current),
        "in_place": is_fragment(request),
        "came_from": came_from,
        "can_expire": can_expire,
        "has_fields": current is None or current.type in LAYOUTS,
        "back": way_back(zone, came_from) or f"{reverse('zone-detail', args=[zone.name])}#{form.row_id}",
        "lines": min(max(values.count("\n") + 1 + len(values) // 90, 2), 16),
        "old_query": urlencode({"name": form["old_name"].value() or "", "type": form["old_type"].value() or ""}),
    }
    if not is_fragment(request):
        return render_zone(request, zone, "records", "editor/rrset.html", context, status)
    response = render(request, "editor/_rrset_form.html", {"zone": zone, **context}, status=status)
    field = request.GET.get("focus", "")
    default = "values" if form["old_name"].value() else "name"
    field = f"[name={field if field in FIELDS else default}]" if status == 200 else "[aria-invalid=true], .choice"
    selectors = [f"#{form.row_id} {part.strip()}" for part in field.split(",")]
    return focus_after(response, ", ".join(selectors))


def _save(request: PanelRequest, zone: Zone) -> HttpResponse:
    """Add the form's RRset to the draft. If the RRset is refused (`put_into_draft`), show the form again."""
    form = RRsetForm(request.POST, zone_name=zone.name, default_ttl=FALLBACK_TTL)
    if not request.POST.get("ttl", "").strip():
        form.default_ttl = default_ttl(request, zone)
    before = rrsets_before(request, zone, form)
    if not put_into_draft(request, zone, form):
        return _show_form(request, zone, form, status=422)
    assert form.rrset is not None
    return _saved_response(request, zone, form.rrset, form.replaces, before)


def rrsets_before(request: PanelRequest, zone: Zone, form: RRsetForm) -> list[RRset | None]:
    """Return the edited A or AAAA RRset as published and as drafted. For other types and new rows, return []."""
    key = form.replaces if form.is_valid() else None
    if key is None or key[1] not in ADDRESS_TYPES:
        return []
    change = row_of(request, zone, key).change
    return [change.before, change.after]


def put_into_draft(request: PanelRequest, zone: Zone, form: RRsetForm) -> bool:
    """Add the form's RRset to the draft and return True. If it is refused, add errors to the form and return False."""
    if not form.is_valid() or form.rrset is None or _would_overwrite(request, zone, form):
        return False
    replaces = form.replaces
    draft.replace_rrset(
        author=request.user,
        zone=zone,
        rrset=form.rrset,
        now=timezone.now(),
        replaces=replaces if replaces != (form.rrset.name, form.rrset.type) else None,
        base_revision=form.cleaned_data["base_revision"],
    )
    return True


def _would_overwrite(request: PanelRequest, zone: Zone, form: RRsetForm) -> bool:
    """Return True and add an error if saving overwrites values that the row didn't show.

    If only the edited row has changed, the form's next submission overwrites the row.
    """
    assert form.rrset is not None
    key = (form.rrset.name, form.rrset.type)
    if form.replaces != key:
        current = row_of(request, zone, key).change.after
        if current is not None:
            listed = ", ".join(map(readable_text, current.rdata[:3]))
            form.add_error(
                "name",
                gettext("{type_to_text} {key} already exists ({listed}). Edit the existing row.").format(
                    type_to_text=rdata.type_to_text(key[1]), key=key[0], listed=listed
                ),
            )
            return True
    if form.replaces is None:
        return False
    row = row_of(request, zone, form.replaces)
    display = row.change.after or row.change.before
    if digest_of(display) == form.cleaned_data["seen"]:
        return False
    form.data = {**form.data.dict(), "seen": digest_of(display)} if isinstance(form.data, QueryDict) else form.data
    change = (
        gettext("The record was deleted")
        if row.change.after is None
        else gettext("The published values are {list}").format(
            list=", ".join(map(readable_text, row.change.after.rdata[:5]))
        )
    )
    form.add_error(
        "values",
        gettext("This row has changed in the meantime. {change}. Save again to use your values.").format(change=change),
    )
    return True


def _saved_response(
    request: PanelRequest, zone: Zone, rrset: RRset, replaces: Key | None, before: list[RRset | None]
) -> HttpResponse:
    key = (rrset.name, rrset.type)
    message = drafted_message(request, zone, rrset, before)
    if not is_fragment(request):
        tell_of_left(request, zone, before)
        say_done(request, f"{message}.")
        to = way_back(zone, request.POST.get("from", ""))
        return redirect(to) if to else back_to_row(zone, key)
    if replaces == key:
        response = _show_row(request, zone, DisplayRow(zone.name, row_of(request, zone, key)))
    else:
        # The edited row shows the old RRset's new state, and another row shows the new RRset.
        response = HttpResponse('<tbody id="rr-new" hidden></tbody>')
        if replaces:
            response = _show_row(request, zone, DisplayRow(zone.name, row_of(request, zone, replaces)))
        response.write(table_rows(request, zone, [key]))
        focus_after(response, f"#{row_id(*key)} .row-link")
    with_offer(request, zone, response, before)
    return with_draft_state(request, zone, response, speak=message)


def drafted_message(request: PanelRequest, zone: Zone, rrset: RRset, before: list[RRset | None]) -> str:
    """Return a message that the RRset is in the draft. If the checkbox "PTR too" is set, draft the PTRs first."""
    followed = follow(request, [*before, rrset]) if is_ticked(request) else ""
    message = gettext("{owner_text} {type_to_text} saved in draft").format(
        owner_text=names.owner_text(rrset.name, zone.name), type_to_text=rdata.type_to_text(rrset.type)
    )
    return f"{message}; {followed}" if followed else message


# Deleting and undoing


@require_POST
def rrset_delete(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Add the deletion of the RRset to the draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    key = require_rrset(request, zone)
    change = row_of(request, zone, key).change
    draft.delete_rrset(author=request.user, zone=zone, name=key[0], type=key[1], now=timezone.now())
    return _after_act(request, zone, key, gettext("deleted in draft"), [change.before, change.after])


@require_POST
def rrset_undo(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Remove the RRset's change from the draft. For a request from the review page, redirect back to the review."""
    zone = access.zone_for_editing(request.user, zone_name)
    key = require_rrset(request, zone)
    before = row_of(request, zone, key).change.after
    draft.drop_operation(author=request.user, zone=zone, name=key[0], type=key[1])
    to = way_back(zone, request.POST.get("from", ""))
    return redirect(to) if to else _after_act(request, zone, key, gettext("reset to the published version"), [before])


def _after_act(request: PanelRequest, zone: Zone, key: Key, outcome: str, before: list[RRset | None]) -> HttpResponse:
    message = f"{names.owner_text(key[0], zone.name)} {rdata.type_to_text(key[1])} {outcome}"
    if not is_fragment(request):
        say_done(request, f"{message}.")
        tell_of_left(request, zone, before)
        return back_to_row(zone, key)
    response = _show_row(request, zone, DisplayRow(zone.name, row_of(request, zone, key)))
    with_offer(request, zone, response, before)
    return with_draft_state(request, zone, response, speak=message)


@require_POST
def draft_discard(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Discard the draft's changes to this zone, even if the zone's primary is now another server."""
    zone = access.zone_for_reading(request.user, zone_name)
    access.require_editor(request.user, zone)
    count = discard(author=request.user, zone=zone, now=timezone.now())
    what = ngettext("{count} change discarded", "{count} changes discarded", count).format(count=count)
    say_done(
        request, gettext("{what}. You can restore discarded changes on the Changes page for seven days."), what=what
    )
    return redirect("zone-detail", zone.name)
