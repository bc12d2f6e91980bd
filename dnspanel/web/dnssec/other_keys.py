"""Views that add and remove the keys of a zone's other signers."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dnspanel.accounts.actors.actors import Right
from dnspanel.texts import gettext
from dnspanel.web.dnssec.forms import OtherKeyForm
from dnspanel.web.dnssec.pages import acting, answer, page
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Channel
from dnspanel.zones.rights import access
from dnspanel.zones.signing import other_signers


@require_POST
def other_key_add(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Add another signer's key to the zone's DNSKEY records."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = OtherKeyForm(request.POST)

    def act() -> None:
        other_signers.add_other_key(zone=zone, text=form.cleaned_data["dnskey"], acting=acting(request, form))

    return answer(request, zone, form, act, gettext("The other signer’s key was added. Nodes are being updated."))


@require_POST
def other_key_remove(request: PanelRequest, zone_name: str, tag: int) -> HttpResponse:
    """Remove another signer's key, after a confirmation."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    key = next((key for key in queries.other_keys_of(zone) if key.tag == tag), None)
    if key is None:
        return page(
            request,
            zone,
            refusal=gettext("{name} no longer has this key from another signer.").format(name=zone.name),
            status=422,
        )
    question = Question(
        gettext("Remove key {tag}").format(tag=tag),
        gettext("The DNSKEY records for {name} will no longer contain this key.").format(name=zone.name),
        gettext(
            "Resolvers will no longer be able to validate signatures made with this key. First stop signing "
            "with it at the other provider, and wait until cached signatures have expired."
        ),
        back=reverse("zone-dnssec", args=[zone.name]),
    )
    ask(request, question)
    by = Acting(request.user, Channel.WEB, timezone.now())
    other_signers.remove_other_key(zone=zone, tag=tag, acting=by)
    say_done(request, gettext("Key {tag} from another signer removed. Nodes are being updated."), tag=tag)
    return redirect("zone-dnssec", zone.name)
