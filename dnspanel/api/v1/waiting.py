"""`?wait=all`: a write answers when every node that takes pushes has answered with it."""

from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors import can
from dnspanel.accounts.roles import Permission
from dnspanel.api.v1.view import Refusal, actor_in, shortened
from dnspanel.api.waiting import LONGEST_WAIT, wait_for_nodes
from dnspanel.fleet.reads.arrivals import NodeArrival, arrivals
from dnspanel.zones.models import Publication

USUAL_SECONDS = 30.0


def seconds_to_wait(request: Request) -> float | None:
    """How long the client wants to wait: `wait=all`, with `timeout=SECONDS`; None: not at all. Raises Refusal (422)."""
    word = request.GET.get("wait", "")
    if word not in {"", "no", "none", "all"}:
        raise Refusal(422, f"'wait' request parameter value '{shortened(word)}' is not supported: use wait=all")
    text = request.GET.get("timeout", "")
    try:
        seconds = float(text) if text else USUAL_SECONDS
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= LONGEST_WAIT:
        raise Refusal(422, f"'timeout' must be a number of seconds up to {LONGEST_WAIT:.0f}")
    return seconds if word == "all" else None


def wait_for_all(request: Request, publication: Publication | None, seconds: float | None) -> None:
    """Every node has proved the publication, or there is nothing to wait for; else Refusal (504) says what lacks."""
    if publication is None or seconds is None or wait_for_nodes(publication, seconds):
        return
    late = [node for node in arrivals(publication, now=timezone.now()) if node.arrived_at is None]
    if late:
        raise Refusal(504, _describe(request, publication, seconds, late))


def _describe(request: Request, publication: Publication, seconds: float, late: list[NodeArrival]) -> str:
    """What is saved and what is not yet so; which nodes there are is for those who may see the fleet."""
    named = ""
    if can(actor_in(request), Permission.FLEET):
        named = ": " + "; ".join(f"{each.node.name}: {each.message}" for each in late)
    nodes = "1 node" if len(late) == 1 else f"{len(late)} nodes"
    return (
        f"The change is saved (sequence {publication.sequence}) and on its way, "
        f"but {nodes} did not answer with it within {seconds:g} s{named}"
    )
