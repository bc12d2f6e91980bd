"""Views of consumer catalogs: list, follow, show, change, set rules, query primaries, confirm removals, unfollow."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.catalogs import access, set_up_catalogs
from dnspanel.catalogs.errors import CatalogRefused, NothingKept
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.catalogs.ours import producer_rows
from dnspanel.catalogs.queries import catalog_row, catalog_rows, listings_page
from dnspanel.catalogs.set_up_catalogs import RuleTerms
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.errors import PrimariesRefused
from dnspanel.texts import gettext, ngettext
from dnspanel.web.fleet.catalog_form import CatalogForm, NewCatalogForm, RuleForm, initial_of, terms_of_rule
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.forms import LONGEST_SEARCH, id_in
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import NameRefused, NamesRefused, QuotaExceeded
from dnspanel.zones.models import Channel
from dnspanel.zones.rights.access import may_create_zones

MOST_LISTED = 50


@require_safe
def catalog_list(request: PanelRequest) -> HttpResponse:
    """List the consumer and producer catalogs with their states."""
    context = {
        "rows": catalog_rows(request.user),
        "may_change": access.may_set_up(request.user),
        "ours": producer_rows(request.user),
        "may_create": may_create_zones(request.user),
    }
    return render(request, "fleet/catalogs.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def catalog_new(request: PanelRequest) -> HttpResponse:
    """Show the form to follow a catalog. A POST follows the catalog."""
    access.require_set_up(request.user)
    form = NewCatalogForm(request.POST or None, initial={"form_id": uuid4()})
    if form.is_valid() and (catalog := _follow(request, form)) is not None:
        say_done(request, gettext("Now following {name}. The catalog is being transferred."), name=catalog.zone.name)
        return redirect("catalog-detail", catalog.pk)
    return render(request, "fleet/catalog_new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def catalog_detail(request: PanelRequest, catalog_id: int) -> HttpResponse:
    """Show a catalog: its members sorted by name with their states, its rules, and its settings for members."""
    catalog = access.catalog_for(request.user, catalog_id)
    return render(request, "fleet/catalog.html", _context(request, catalog))


@require_POST
def catalog_change(request: PanelRequest, catalog_id: int) -> HttpResponse:
    """Change the settings for the catalog's members."""
    access.require_set_up(request.user)
    catalog = access.catalog_for(request.user, catalog_id)
    form = CatalogForm(request.POST)
    if form.is_valid():
        with form.catching(CatalogRefused):
            set_up_catalogs.change_catalog(
                catalog=catalog, terms=form.catalog_terms, author=request.user, now=timezone.now()
            )
            say_done(request, gettext("Changes saved."))
            return redirect("catalog-detail", catalog.pk)
    return render(request, "fleet/catalog.html", {**_context(request, catalog), "form": form}, status=422)


@require_POST
def catalog_rule(request: PanelRequest, catalog_id: int) -> HttpResponse:
    """Set the rule for a group's members. `drop` removes the rule with this id."""
    access.require_set_up(request.user)
    catalog = access.catalog_for(request.user, catalog_id)
    there = list(catalog.rules.order_by("pk"))
    if (drop := request.POST.get("drop")) is not None:
        left = [terms_of_rule(rule) for rule in there if rule.pk != id_in(drop)]
        with reporting(request, CatalogRefused):  # another rule can have become invalid
            set_up_catalogs.set_rules(catalog=catalog, rules=left, author=request.user, now=timezone.now())
            say_done(request, gettext("Rule deleted."))
        return redirect("catalog-detail", catalog.pk)
    form = RuleForm(request.POST, auto_id="rule_%s")
    if form.is_valid():
        rules = _with([terms_of_rule(rule) for rule in there], form.rule_terms)
        with form.catching(CatalogRefused):
            set_up_catalogs.set_rules(catalog=catalog, rules=rules, author=request.user, now=timezone.now())
            say_done(request, gettext("Rule for group {group} saved."), group=form.rule_terms.group)
            return redirect("catalog-detail", catalog.pk)
    return render(request, "fleet/catalog.html", {**_context(request, catalog), "rule_form": form}, status=422)


@require_POST
def catalog_confirm(request: PanelRequest, catalog_id: int) -> HttpResponse:
    """Remove zones that the catalog no longer lists, after a confirmation."""
    access.require_set_up(request.user)
    catalog = access.catalog_for(request.user, catalog_id)
    if catalog.kept_since is not None:
        ask(request, _about_removing(catalog))
    revision = id_in(request.POST.get("revision", "")) or 0
    with reporting(request, NothingKept, level=messages.WARNING):
        set_up_catalogs.confirm_removals(catalog=catalog, revision=revision, author=request.user, now=timezone.now())
        say_done(request, gettext("Started removing the members."))
    return redirect("catalog-detail", catalog.pk)


@require_POST
def catalog_ask(request: PanelRequest, catalog_id: int) -> HttpResponse:
    """Query the catalog zone's primaries now."""
    access.require_set_up(request.user)
    catalog = access.catalog_for(request.user, catalog_id)
    primaries.ask_now(zone=catalog.zone, author=request.user, now=timezone.now())
    say_done(request, gettext("Checking the primaries for {name}."), name=catalog.zone.name)
    return redirect("catalog-detail", catalog.pk)


@require_POST
def catalog_unfollow(request: PanelRequest, catalog_id: int) -> HttpResponse:
    """Stop following the catalog and delete its zone, after a confirmation. The catalog's member zones stay."""
    access.require_set_up(request.user)
    catalog = access.catalog_for(request.user, catalog_id)
    ask(request, _about_unfollowing(catalog))
    set_up_catalogs.unfollow_catalog(catalog=catalog, author=request.user, channel=Channel.WEB, now=timezone.now())
    say_done(request, gettext("No longer following {name}."), name=catalog.zone.name)
    return redirect("catalog-list")


def _follow(request: PanelRequest, form: NewCatalogForm) -> Catalog | None:
    """Follow the catalog. If it is refused, add the reason to the form and return None."""
    with form.catching(PrimariesRefused, CatalogRefused, NameRefused, NamesRefused, QuotaExceeded):
        return set_up_catalogs.follow_catalog(
            name=form.cleaned_data["name"],
            primaries_terms=form.terms,
            terms=form.catalog_terms,
            acting=Acting(request.user, Channel.WEB, timezone.now(), form_id=form.id),
        )
    return None


def _with(rules: Sequence[RuleTerms], rule: RuleTerms) -> list[RuleTerms]:
    """Return the rules with `rule` added, in place of any rule for the same group."""
    if any(each.group == rule.group for each in rules):
        return [rule if each.group == rule.group else each for each in rules]
    return [*rules, rule]


def _context(request: PanelRequest, catalog: Catalog) -> dict[str, object]:
    search, after = request.GET.get("q", "")[:LONGEST_SEARCH].strip().lower(), request.GET.get("after", "")
    state = request.GET.get("state", "")
    state = state if state in State.values else ""
    found = listings_page(
        request.user, catalog, search=search, state=state, after=after[:LONGEST_SEARCH], limit=MOST_LISTED + 1
    )
    return {
        "catalog": catalog,
        "row": catalog_row(catalog),
        "listings": found[:MOST_LISTED],
        "next": _next(found, search, state),
        "search": search,
        "state": state,
        "states": State.choices,
        "rules": catalog.rules.select_related("team").order_by("pk"),
        "form": CatalogForm(initial=initial_of(catalog)),
        "rule_form": RuleForm(auto_id="rule_%s"),
        "may_change": access.may_set_up(request.user),
    }


def _next(found: Sequence[Listing], search: str, state: str) -> str:
    """Return the URL query of the next page, or "" on the last page."""
    if len(found) <= MOST_LISTED:
        return ""
    return f"?{urlencode({'q': search, 'state': state, 'after': found[MOST_LISTED - 1].zone_name})}"


def _about_removing(catalog: Catalog) -> Question:
    effect = ngettext(
        "{count} zone that left the catalog will be moved to the trash and removed from the nodes.",
        "{count} zones that left the catalog will be moved to the trash and removed from the nodes.",
        catalog.kept_count,
    ).format(count=f"{catalog.kept_count:,}")
    return Question(
        gettext("Remove members of {name}").format(name=catalog.zone.name),
        effect,
        gettext("Zones that existed before the catalog will be kept."),
        button=gettext("Remove members"),
        back=reverse("catalog-detail", args=[catalog.pk]),
    )


def _about_unfollowing(catalog: Catalog) -> Question:
    title = gettext("Stop following {name}").format(name=catalog.zone.name)
    return Question(
        title,
        gettext("The catalog zone will be moved to the trash."),
        gettext("The member zones will be kept and will still be transferred from their primaries."),
        back=reverse("catalog-detail", args=[catalog.pk]),
    )
