"""Views of DNSSEC policies: the list, one policy and its targets, and a zone's policy."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, Right
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext
from dnspanel.web.dnssec.pages import acting, page
from dnspanel.web.dnssec.policy_forms import AttachForm, OwnPolicyForm, PolicyForm, ReplaceForm
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, reporting, say_done
from dnspanel.zones.dnssec import policy_queries
from dnspanel.zones.dnssec.policy import Act, Terms
from dnspanel.zones.errors import PolicyRefused
from dnspanel.zones.models import DnssecPolicy
from dnspanel.zones.rights import access
from dnspanel.zones.runs import policy_runs
from dnspanel.zones.signing import policies as verbs
from dnspanel.zones.signing import policy_apply
from replication.dns.names import before_full_stop

# The largest number of zones to list that have the policy attached directly.
_LISTED = 100


@dataclass(frozen=True, slots=True)
class DisplayPolicy:
    """A policy with its terms, for display in the list."""

    policy: DnssecPolicy
    terms: Terms


@require_safe
def policy_list(request: PanelRequest) -> HttpResponse:
    """List the policies that the person is allowed to see."""
    access.require(request.user, Permission.READ)
    visible = policy_queries.policies_visible_to(request.user)
    context = {
        "policies": [DisplayPolicy(row, policy_queries.terms_of(row)) for row in visible],
        "may_change": policy_queries.may_change_policies(request.user),
        "may_run": policy_runs.may_begin_runs(request.user),
    }
    return render(request, "dnssec/policies.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def policy_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new policy. A POST creates the policy."""
    verbs.require_signer_of_all(request.user)
    form = PolicyForm(request.POST or None)
    if form.is_valid():
        chosen = form.cleaned_data
        with form.catching(PolicyRefused):
            policy = verbs.create_policy(
                name=chosen["policy_name"],
                terms=form.terms,
                is_default=chosen["is_default"],
                by=request.user,
                now=timezone.now(),
            )
            say_done(
                request, gettext("Policy {name} created. To apply it to zones, start a dry run."), name=policy.name
            )
            return redirect("zone-policy", policy.pk)
    return render(request, "dnssec/policy_new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def policy_detail(request: PanelRequest, policy_id: int) -> HttpResponse:
    """Show a policy and its targets. A POST changes the policy."""
    access.require(request.user, Permission.READ)
    policy = policy_queries.policy_for(request.user, policy_id)
    if request.method != "POST":
        return _policy_page(request, policy, PolicyForm.of(policy))
    verbs.require_signer_of_all(request.user)
    form = PolicyForm(request.POST)
    if form.is_valid():
        chosen = form.cleaned_data
        with form.catching(PolicyRefused):
            changed = verbs.change_policy(
                policy=policy,
                name=chosen["policy_name"],
                terms=form.terms,
                is_default=chosen["is_default"],
                by=request.user,
                now=timezone.now(),
            )
            say_done(
                request,
                gettext("Policy {name} saved. To apply the changes to zones, start a dry run."),
                name=changed.name,
            )
            return redirect("zone-policy", policy.pk)
    return _policy_page(request, policy, form, status=422)


def _policy_page(
    request: PanelRequest,
    policy: DnssecPolicy,
    form: PolicyForm,
    *,
    attach_form: AttachForm | None = None,
    status: int = 200,
) -> HttpResponse:
    may_change = policy_queries.may_change_policies(request.user)
    own = policy_queries.zones_attached_to(policy) & access.zones_visible_to(request.user)
    context = {
        "policy": policy,
        "terms": policy_queries.terms_of(policy),
        "form": form,
        "attach_form": attach_form or AttachForm(),
        "attached": policy_queries.attached_to(policy) if may_change else [],
        "zones": own[:_LISTED],
        "may_change": may_change,
        "may_run": policy_runs.may_begin_runs(request.user),
    }
    return render(request, "dnssec/policy.html", context, status=status)


@require_POST
def policy_attach(request: PanelRequest, policy_id: int) -> HttpResponse:
    """Attach the policy to a tag or a team."""
    verbs.require_signer_of_all(request.user)
    policy = policy_queries.policy_by_id(policy_id)
    form = AttachForm(request.POST)
    if form.is_valid():
        chosen = form.cleaned_data
        target = verbs.Target(team=chosen["team"]) if chosen["team"] else verbs.Target(tag=chosen["tag"])
        with form.catching(PolicyRefused, at="tag"):
            target = verbs.attach(policy=policy, to=target, by=request.user, now=timezone.now())
            say_done(
                request,
                gettext("Policy {name} assigned to {target}. To apply it to zones, start a dry run."),
                name=policy.name,
                target=target,
            )
            return redirect("zone-policy", policy.pk)
    return _policy_page(request, policy, PolicyForm.of(policy), attach_form=form, status=422)


@require_POST
def policy_detach(request: PanelRequest, policy_id: int) -> HttpResponse:
    """Detach the policy from a tag or a team."""
    verbs.require_signer_of_all(request.user)
    policy = policy_queries.policy_by_id(policy_id)
    team = request.POST.get("team", "")
    found = Team.objects.filter(pk=team).first() if team.isdecimal() and len(team) < 10 else None
    target = verbs.Target(tag=request.POST.get("tag", "")) if found is None else verbs.Target(team=found)
    with reporting(request, PolicyRefused, text=NOTHING_CHANGED):
        verbs.detach(target=target, by=request.user, now=timezone.now())
        say_done(request, gettext("Policy removed from {target}. Zones haven’t changed."), target=target)
    return redirect("zone-policy", policy.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def policy_delete(request: PanelRequest, policy_id: int) -> HttpResponse:
    """Show a policy's targets. A POST deletes the policy, and attaches the chosen replacement to the targets."""
    verbs.require_signer_of_all(request.user)
    policy = policy_queries.policy_by_id(policy_id)
    form = ReplaceForm(request.POST or None, policy=policy)
    if form.is_valid():
        heir = form.cleaned_data["replaced_by"]
        with form.catching(PolicyRefused, at="replaced_by"):
            verbs.delete_policy(policy=policy, replaced_by=heir, by=request.user, now=timezone.now())
            say_done(request, gettext("Policy {name} deleted. Zones haven’t changed."), name=policy.name)
            return redirect("zone-policies")
    context = {
        "policy": policy,
        "form": form,
        "attached": policy_queries.attached_to(policy),
        "zone_count": policy_queries.zones_attached_to(policy).count(),
    }
    return render(request, "dnssec/policy_delete.html", context, status=422 if form.is_bound else 200)


@require_POST
def zone_policy(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Attach a policy directly to the zone, or detach it."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = OwnPolicyForm(request.POST, person=request.user)
    if not form.is_valid():
        return page(request, zone, form=form, status=422)
    policy, now = form.cleaned_data["policy"], timezone.now()
    if policy is None:
        verbs.detach(target=verbs.Target(zone=zone), by=request.user, now=now)
        say_done(request, gettext("{name} no longer has its own policy."), name=zone.name)
    else:
        verbs.attach(policy=policy, to=verbs.Target(zone=zone), by=request.user, now=now)
        say_done(
            request,
            gettext("{name} now uses the policy {name2}. The zone itself hasn’t changed yet."),
            name=zone.name,
            name2=policy.name,
        )
    return redirect("zone-dnssec", zone.name)


@require_POST
def zone_follow(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Apply the zone's policy to the zone, except for changes that replace keys. Any refusal prevents all changes."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = OwnPolicyForm(request.POST, person=request.user)
    applied = policy_queries.applied_to_zones([zone])
    if not form.is_valid() or not applied:
        messages.error(
            request,
            gettext("No policy applies to {name}. Nothing was changed.").format(name=before_full_stop(zone.name)),
        )
        return redirect("zone-dnssec", zone.name)
    applying = policy_apply.Applying(
        acting(request, form, gettext("DNSSEC policy {name}").format(name=applied[zone.pk].policy.name))
    )
    publications, findings = policy_apply.follow_policies(zones=[zone], applied=applied, applying=applying)
    refused = [each.message for each in findings[zone.pk] if each.act is Act.REFUSED]
    if refused:
        messages.error(request, gettext("{refused} Nothing was changed.").format(refused=refused[0]))
    elif publications:
        say_done(request, gettext("The policy was applied to {name}, and the nodes are being updated."), name=zone.name)
    else:
        messages.info(request, gettext("{name} didn’t need any changes.").format(name=zone.name))
    return redirect("zone-dnssec", zone.name)
