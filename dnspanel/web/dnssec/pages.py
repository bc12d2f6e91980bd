"""Views of a zone's DNSSEC page: its state, and the actions that change how the zone is signed."""

from collections.abc import Callable
from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Person, Right
from dnspanel.fleet.ask_parent import ask_parent
from dnspanel.fleet.dnssec.node_answers import ask_nodes
from dnspanel.fleet.reads.parent_check import parent_of
from dnspanel.fleet.reads.queries import unproven_on, watched_statuses
from dnspanel.texts import gettext
from dnspanel.web.dnssec import display
from dnspanel.web.dnssec.display_keys import display_lives, next_end_of
from dnspanel.web.dnssec.display_policy import ZonePolicy, zone_policy_of
from dnspanel.web.dnssec.display_rollover import DisplayRollover, possible_kinds
from dnspanel.web.dnssec.forms import (
    AddKeyForm,
    CdsForm,
    DenialForm,
    OtherKeyForm,
    SignallingForm,
    SignForm,
    SigningForm,
    UnsignForm,
)
from dnspanel.web.dnssec.policy_forms import OwnPolicyForm
from dnspanel.web.dnssec.rollover_forms import BeginRolloverForm, CancelRolloverForm
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.dnssec_chain import AnyKey, DisplayAnswer, ParentSide, chain_of
from dnspanel.web.frame.forms import PublishingForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.sync import sync_of, sync_of_zone
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import policy_queries, rollover_queries
from dnspanel.zones.dnssec import queries as dnssec
from dnspanel.zones.dnssec.key_history import histories_of
from dnspanel.zones.dnssec.other_keys import MOST_OTHER_KEYS
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.signing_state import DELETE, SigningState
from dnspanel.zones.dnssec.signing_texts import describe_polling
from dnspanel.zones.errors import DnssecRefused, NotSigned
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import sign
from dnspanel.zones.signing.presigned import ENDS_SOON, drop_signatures, signatures_end
from dnspanel.zones.signing.signalling import has_signalling, set_signalling
from replication.dns import rdata, rdtypes

# Records that clients trust only if the zone is signed.
_TRUSTED_TYPES = (rdtypes.TLSA, rdtypes.SSHFP, rdtypes.OPENPGPKEY, rdtypes.SMIMEA)
# The forms in the folded part of the page. It opens if one of them is refused.
_ADVANCED = ("own", "denial", "cds", "other_key", "signalling")


@require_safe
def zone_dnssec(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the zone's signing state, its keys, and the records that its parent needs."""
    return page(request, access.zone_for_reading(request.user, zone_name))


def page(
    request: PanelRequest,
    zone: Zone,
    *,
    form: SigningForm | None = None,
    refusal: str = "",
    status: int = 200,
    answers: list[DisplayAnswer] | None = None,
) -> HttpResponse:
    """Return the zone's DNSSEC page. `form` is a rejected form, and `refusal` the reason for a refused action.

    If `answers` is None, the page fetches the nodes' answers after it has loaded.
    """
    state = dnssec.signing_of(zone)
    keys = dnssec.keys_of(zone, state)
    may_sign = access.has_right(request.user, zone, Right.DNSSEC)
    rolled = rollover_queries.newest(zone)
    is_under_way = rolled is not None and rolled.ended_at is None
    policy = zone_policy_of(zone, state, keys, is_rolling=is_under_way)
    if form is not None and _is_gone(form, has_keys=bool(keys), is_rolling=is_under_way):
        refusal = " ".join(map(str, form.non_field_errors()))
    check, here = parent_of(zone, request.user, timezone.now())
    parent = display.display_parent(here, knows_here=check.knows_here)
    other_keys = dnssec.other_keys_of(zone)
    signing = display.DisplaySigning(state, [display.DisplayKey(zone.name, key) for key in keys], parent)
    display_others = [display.DisplayOtherKey(zone.name, key) for key in other_keys[:MOST_OTHER_KEYS]]
    lives = display_lives(histories_of(zone, state, rolled), policy.applied.terms if policy else None)
    context: dict[str, object] = {
        "signing": signing,
        "ds_keys": display_others if state.presigned else signing.for_parent,
        "check": check,
        "chain": chain_of(zone.name, ParentSide.of(check, here), [*keys, *other_keys], answers),
        "nodes": _nodes(zone),
        "unproven": unproven_on(zone),
        "lives": lives,
        "next_end": next_end_of(lives),
        "may_sign": may_sign,
        "may_act": may_sign and not zone.transferred_from and not zone.is_catalog,
        "may_export": access.has_right(request.user, zone, Right.EXPORT_KEYS),
        "refusal": refusal,
        "refused_form": form.name if form else "",
        "is_advanced_refused": form is not None and form.name in _ADVANCED,
        "policy": policy,
        "keys_are_rolling": is_under_way,
        "other_keys": display_others,
        "more_other_keys": max(0, len(other_keys) - MOST_OTHER_KEYS),
        "rolled": DisplayRollover(rolled, timezone.now()) if rolled else None,
    }
    if state.presigned:
        ends = signatures_end(zone)
        context |= {"signatures_end": ends, "ends_soon": ends is None or ends - timezone.now() < ENDS_SOON}
    if may_sign:
        context |= _forms(request.user, zone, state, form, policy)
        if state.is_signed and parent.word == "missing" and not is_under_way:
            context["trust_form"] = BeginRolloverForm(kinds=[Kind.SECURE])
    return render_zone(request, zone, "dnssec", "dnssec/zone.html", context, status)


def _is_gone(form: SigningForm, *, has_keys: bool, is_rolling: bool) -> bool:
    """Return True if the page no longer has the form: the zone was unsigned, or a rollover started or ended."""
    if isinstance(form, BeginRolloverForm | CancelRolloverForm):
        return isinstance(form, BeginRolloverForm) == is_rolling
    return not has_keys and isinstance(form, CdsForm | DenialForm) and not isinstance(form, SignForm)


def _forms(
    person: Person, zone: Zone, state: SigningState, refused: SigningForm | None, policy: ZonePolicy | None
) -> dict[str, object]:
    forms: dict[str, object] = {
        "sign_form": SignForm(initial=SignForm.initial_by(policy.applied.terms)) if policy else SignForm(),
        "own_form": OwnPolicyForm(person=person, initial={"policy": policy_queries.own_policy_of(zone)}),
        "denial_form": DenialForm(initial=DenialForm.initial_of(state)),
        "cds_form": CdsForm(state=state),
        "withdraw_form": CdsForm(state=state),
        "key_form": AddKeyForm(),
        "other_key_form": OtherKeyForm(),
        "signalling_form": SignallingForm(initial={"signals": has_signalling(zone)}),
        "rollover_form": BeginRolloverForm(kinds=possible_kinds(state)),
        "cancel_form": CancelRolloverForm(),
    }
    return forms | ({f"{refused.name}_form": refused} if refused else {})


def _nodes(zone: Zone) -> dict[str, object] | None:
    """Return the nodes' progress with the latest signing change, or None if the zone was never signed."""
    last = dnssec.last_change_of(zone)
    if last is None:
        return None
    sync = sync_of(last.publication.sequence, watched_statuses(now=timezone.now()))
    return {"sequence": last.publication.sequence, "number": last.number, "sync": sync}


@require_safe
def dnssec_nodes(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the nodes' progress with the latest signing change."""
    zone = access.zone_for_reading(request.user, zone_name)
    return render(request, "dnssec/_nodes.html", {"zone": zone, "nodes": _nodes(zone)})


@require_safe
def dnssec_answers(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Query the nodes (not the canary), and show the chain with their answers. A silent node delays it for seconds."""
    zone = access.zone_for_reading(request.user, zone_name)
    state = dnssec.signing_of(zone)
    answers = [DisplayAnswer(each, state.is_signed) for each in ask_nodes(zone, now=timezone.now())]
    if not request.htmx:
        return page(request, zone, answers=answers)
    keys: list[AnyKey] = [*dnssec.keys_of(zone, state), *dnssec.other_keys_of(zone)]
    chain = chain_of(zone.name, ParentSide.of(*parent_of(zone, request.user, timezone.now())), keys, answers)
    return render(request, "dnssec/_chain.html", {"zone": zone, "chain": chain})


@require_http_methods(["GET", "HEAD", "POST"])
def dnssec_parent(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the latest check of the parent. A POST makes a worker check the parent now."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC if request.method == "POST" else Right.READ)
    refusal = ""
    if request.method == "POST":
        try:
            ask_parent(zone=zone, now=timezone.now(), by=request.user)
        except NotSigned as exc:
            refusal = str(exc)
        if not request.htmx:
            return page(request, zone, refusal=refusal, status=422) if refusal else redirect("zone-dnssec", zone.name)
    context = {
        "zone": zone,
        "check": parent_of(zone, request.user, timezone.now())[0],
        "refusal": refusal,
        "is_answer": True,
    }
    return render(request, "dnssec/_check.html", context, status=422 if refusal else 200)


def acting(request: PanelRequest, form: PublishingForm, reason: str = "") -> Acting:
    """Return the actor, channel, time and form id for a change made with this form."""
    return Acting(request.user, Channel.WEB, timezone.now(), reason=reason, form_id=form.id)


def answer(request: PanelRequest, zone: Zone, form: SigningForm, act: Callable[[], object], done: str) -> HttpResponse:
    """Call `act`, then redirect to the DNSSEC page with the message `done`.

    If the form is invalid or `act` is refused, return the page with the form's errors.
    """
    if form.is_valid():
        with form.catching(DnssecRefused):
            act()
            say_done(request, done)
            return redirect("zone-dnssec", zone.name)
    return page(request, zone, form=form, status=422)


@require_POST
def dnssec_sign(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Sign the zone with new keys."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = SignForm(request.POST)

    def act() -> None:
        chosen = form.cleaned_data
        sign.sign(
            zones=[zone],
            acting=acting(request, form),
            algorithm=chosen["algorithm"],
            bits=form.key_bits,
            split=chosen["split"],
            nsec3=form.nsec3,
        )

    done = gettext("{name} signed. After all nodes are updated, add the DS at the parent.").format(name=zone.name)
    return answer(request, zone, form, act, done)


@require_POST
def dnssec_denial(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Change the zone's denial of existence to NSEC or NSEC3."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = DenialForm(request.POST)

    def act() -> None:
        sign.set_denial(zone=zone, nsec3=form.nsec3, acting=acting(request, form))

    return answer(request, zone, form, act, gettext("Denial of existence changed."))


@require_POST
def dnssec_cds(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Change the zone's CDS and CDNSKEY records. A request to delete the DS at the parent needs a confirmation."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    state = dnssec.signing_of(zone)
    form = CdsForm(request.POST, state=state)
    if form.is_valid() and form.cleaned_data["cds"] == DELETE != state.cds:
        after = replace(state, cds=DELETE, cdnskey=form.cleaned_data["cdnskey"])
        question = Question(
            gettext("Request DS deletion from {name}’s parent").format(name=zone.name),
            describe_polling(after),
            gettext(
                "The request will be published immediately. If you withdraw it later, the parent might already "
                "have deleted the DS."
            ),
            button=gettext("Request DS deletion"),
            back=reverse("zone-dnssec", args=[zone.name]),
        )
        ask(request, question)

    def act() -> None:
        chosen = form.cleaned_data
        sign.set_cds(zone=zone, cds=chosen["cds"], cdnskey=chosen["cdnskey"], acting=acting(request, form))

    return answer(request, zone, form, act, gettext("CDS and CDNSKEY records changed."))


@require_POST
def dnssec_signalling(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Switch the zone's signaling names (RFC 9615) on or off."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = SignallingForm(request.POST)

    def act() -> None:
        set_signalling(zones=[zone], signals=form.cleaned_data["signals"], acting=acting(request, form))

    return answer(
        request, zone, form, act, gettext("Setting saved. Signalling records will be updated within one minute.")
    )


@require_POST
def dnssec_drop(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Remove the zone's imported signatures, after a confirmation."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    question = Question(
        gettext("Remove signatures from {name}").format(name=zone.name),
        gettext("Answers will no longer be signed. The RRSIG, DNSKEY, CDS and CDNSKEY records will be removed."),
        gettext(
            "If the parent has a DS for the zone, validating resolvers will no longer be able to resolve it. "
            "First remove the DS, and wait until it has expired from caches."
        ),
        button=gettext("Remove signatures"),
        back=reverse("zone-dnssec", args=[zone.name]),
    )
    ask(request, question)
    try:
        drop_signatures(zones=[zone], acting=Acting(request.user, Channel.WEB, timezone.now()))
    except DnssecRefused as exc:
        return page(request, zone, refusal=str(exc), status=422)
    say_done(request, gettext("Signatures removed from {name}. Nodes are being updated."), name=zone.name)
    return redirect("zone-dnssec", zone.name)


@require_http_methods(["GET", "HEAD", "POST"])
def dnssec_unsign(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the effects of unsigning and a form that asks for the zone's name. A POST unsigns the zone.

    A GET for a zone without keys redirects to the DNSSEC page.
    """
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = UnsignForm(request.POST or None, zone_name=zone.name)
    if form.is_valid():
        with form.catching(DnssecRefused):
            sign.unsign(zones=[zone], acting=acting(request, form, form.cleaned_data["reason"]))
            say_done(request, gettext("{name} is no longer signed."), name=zone.name)
            return redirect("zone-dnssec", zone.name)
    state = dnssec.signing_of(zone)
    if not state.keys and request.method != "POST":
        messages.info(request, gettext("{name} is not signed.").format(name=zone.name))
        return redirect("zone-dnssec", zone.name)
    return render(
        request,
        "dnssec/unsign.html",
        {"zone": zone, "form": form, **_effects(zone, state, request)},
        status=422 if request.method == "POST" else 200,
    )


def _effects(zone: Zone, state: SigningState, request: PanelRequest) -> dict[str, object]:
    check, here = parent_of(zone, request.user, timezone.now())
    counts = dict(rrset_pages.type_counts(zone=zone))
    return {
        "keys": len(state.keys),
        "nodes": sync_of_zone(zone, watched_statuses(now=timezone.now())),
        "parent": display.display_parent(here, knows_here=check.knows_here),
        "check": check,
        "trusted": [(rdata.type_to_text(type), counts[type]) for type in _TRUSTED_TYPES if type in counts],
    }
