"""Views that list, save, rename, share and delete saved views."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.models import Team, User
from dnspanel.accounts.people.list_looks import ListLook, ListName, look_of
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PanelForm, id_in, switch_field, text_field
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.zones.errors import ViewRefused, ViewUnknown
from dnspanel.zones.lists import saved_views
from dnspanel.zones.models import SavedView, ViewPage, Zone
from dnspanel.zones.rights import access

_LISTS = {ViewPage.ZONES: ListName.ZONES, ViewPage.RECORDS: ListName.RECORDS}


@dataclass(frozen=True, slots=True)
class ListedView:
    """A saved view and its URL, which is empty if the view is for any zone and the page isn't about a zone."""

    view: SavedView
    url: str
    is_own: bool

    @property
    def asks(self) -> str:
        """The view's search as readable text, such as `mail · type MX · sorted by ttl`."""
        terms = self.view.terms
        found = [terms.get("q", "")]
        found += [gettext("type {terms}").format(terms=terms["type"])] if "type" in terms else []
        found += [gettext("in {terms}").format(terms=terms["in"])] if "in" in terms else []
        found += [gettext("changed this week")] if "changed" in terms else []
        found += [gettext("not queried for {days} days").format(days=terms["queried"])] if "queried" in terms else []
        found += [gettext("sorted by {terms}").format(terms=terms["sort"])] if "sort" in terms else []
        return " · ".join(filter(None, found))


class ViewForm(PanelForm):
    """The form for a saved view's name, and for the team to share the view with."""

    name = text_field(None, saved_views.LONGEST_NAME, required=True)
    team = forms.ChoiceField(label=gettext_lazy("Share with"), required=False)

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.teams = {str(team.pk): team for team in saved_views.teams_to_share_with(person)}
        self.choices = [("", gettext("no one else")), *((key, team.name) for key, team in self.teams.items())]
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = self.choices
        if not self.teams:
            del self.fields["team"]

    @property
    def chosen_team(self) -> Team | None:
        return self.teams.get(self.cleaned_data.get("team", ""))


class NewViewForm(ViewForm):
    """The form for a new saved view, with options to save the visible columns and to use it in every zone."""

    columns = switch_field(gettext_lazy("Save visible columns"))
    everywhere = switch_field(gettext_lazy("Available in every zone"))

    def __init__(self, *args: Any, page: ViewPage, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if page not in _LISTS:
            del self.fields["columns"]
        if page is not ViewPage.RECORDS:
            del self.fields["everywhere"]
        for name in ("columns", "everywhere"):
            if name in self.fields:
                self.fields[name].widget.attrs["class"] = ""


@require_http_methods(["GET", "HEAD", "POST"])
def saved_view_list(request: PanelRequest) -> HttpResponse:
    """List the saved views of one page or of all pages, with a form for the current search. A POST saves the search."""
    given = request.POST if request.method == "POST" else request.GET
    page = ViewPage(given["of"]) if given.get("of") in set(ViewPage) else None
    zone = None
    if page is ViewPage.RECORDS and "zone" in given:
        zone = access.zone_for_reading(request.user, given["zone"])
    if page is None or (page is ViewPage.RECORDS and zone is None):
        return _show(request, None, None, None, {})
    terms = {key: value for key in saved_views.TERMS[page] if (value := _terms(request, given).get(key, "").strip())}
    form = NewViewForm(request.POST or None, person=request.user, page=page)
    if form.is_valid() and (made := _save(request, form, page, zone, terms)):
        say_done(request, gettext("View “{name}” saved."), name=made.name)
        return redirect(address_of(made, zone))
    return _show(request, page, zone, form, terms)


@require_http_methods(["GET", "HEAD", "POST"])
def saved_view(request: PanelRequest, view_id: int) -> HttpResponse:
    """Show the form that renames or shares one of the user's own views. A POST saves the changes."""
    view = _own_view(request, view_id)
    initial = {"name": view.name, "team": str(view.team_id or "")}
    form = ViewForm(request.POST or None, person=request.user, initial=initial)
    if form.is_valid():
        given = {"name": form.cleaned_data["name"], "team": form.chosen_team}
        with form.catching(ViewRefused, at="name"):
            saved_views.change_view(person=request.user, view=view, now=timezone.now(), **given)
            say_done(request, gettext("View “{given}” saved."), given=given["name"])
            return redirect("zone-views")
    context = {"listed": _listed_view(request, view, None), "form": form}
    return render(request, "view.html", context, status=422 if form.is_bound else 200)


@require_POST
def saved_view_delete(request: PanelRequest, view_id: int) -> HttpResponse:
    """Delete the saved view."""
    view = _own_view(request, view_id)
    saved_views.delete_view(person=request.user, view=view, now=timezone.now())
    say_done(request, gettext("View “{name}” deleted. Zones and records weren’t affected."), name=view.name)
    return redirect("zone-views")


def look_in(request: PanelRequest, of: ListName) -> ListLook:
    """Return a list's columns and density, from the saved view in the URL or else from the user's own settings."""
    own = look_of(request.user, of)
    pk = id_in(request.GET.get("view", ""))
    if pk is None:
        return own
    try:
        view = saved_views.view_for(request.user, pk)
    except ViewUnknown:
        return own
    return saved_views.look_of_view(view, own) if _LISTS.get(ViewPage(view.page)) == of else own


def address_of(view: SavedView, zone: Zone | None = None) -> str:
    """Return the URL of the saved view. Return "" if the view shows records of any zone and `zone` is None."""
    query = urlencode(view.terms | ({} if view.look is None else {"view": view.pk}))
    if view.page == ViewPage.RECORDS:
        place = view.zone or zone
        return f"{reverse('zone-detail', args=[place.name])}?{query}" if place else ""
    return f"{reverse('zone-list' if view.page == ViewPage.ZONES else 'search')}?{query}"


def _own_view(request: PanelRequest, view_id: int) -> SavedView:
    view = saved_views.view_for(request.user, view_id)
    if view.owner_id != request.user.pk:
        raise ViewUnknown
    return view


def _terms(request: PanelRequest, given: QueryDict) -> QueryDict:
    """Return the URL parameters of the current page. For htmx, use the browser's URL, which has more parameters."""
    url = request.htmx.current_url if is_fragment(request) else None
    return QueryDict(urlsplit(url).query) if url else given


def _save(
    request: PanelRequest, form: NewViewForm, page: ViewPage, zone: Zone | None, terms: dict[str, str]
) -> SavedView | None:
    given = form.cleaned_data
    look = look_of(request.user, _LISTS[page]) if given.get("columns") else None
    with form.catching(ViewRefused, at="name"):
        return saved_views.save_view(
            person=request.user,
            page=page,
            name=given["name"],
            terms=terms,
            zone=None if given.get("everywhere") else zone,
            team=form.chosen_team,
            look=look,
            now=timezone.now(),
        )
    return None


def _listed_view(request: PanelRequest, view: SavedView, zone: Zone | None) -> ListedView:
    return ListedView(view, address_of(view, zone), view.owner_id == request.user.pk)


def _show(
    request: PanelRequest, page: ViewPage | None, zone: Zone | None, form: NewViewForm | None, terms: dict[str, str]
) -> HttpResponse:
    found = saved_views.visible_views(request.user)
    if page is not None:
        found = found.filter(page=page)
    if zone is not None:
        found = found.filter(zone__in=[zone.pk]) | found.filter(zone=None)
    context = {
        "views": [_listed_view(request, view, zone) for view in found[: saved_views.MOST_LISTED]],
        "of": page or "",
        "page_name": page.label if page else "",
        "zone": zone,
        "form": form,
        "terms": terms,
    }
    template = "_views.html" if is_fragment(request) else "views.html"
    return render(request, template, context, status=422 if form is not None and form.is_bound else 200)
