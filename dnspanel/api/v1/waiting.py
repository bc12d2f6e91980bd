"""Delay the response to a write until the servers have its publication (parameter `wait`).

`?wait=all` waits for all active nodes and all secondaries, `?wait=nodes` only for the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.api.v1.view import Refusal, actor_in, shorten_text
from dnspanel.api.waiting import LONGEST_WAIT, wait_for_nodes
from dnspanel.fleet.reads.arrivals import NodeArrival, arrivals
from dnspanel.secondaries.arrival import Lacking, secondaries_lacking
from dnspanel.zones.models import Publication

USUAL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Wait:
    """The maximum time to wait in seconds, and a flag that is True if the request also waits for secondaries."""

    seconds: float
    with_secondaries: bool


def requested_wait(request: Request) -> Wait | None:
    """Parse the parameter `wait` (`all` or `nodes`) and its `timeout` in seconds. Return None if no wait is requested.

    Raise Refusal (422) if a parameter is invalid.
    """
    word = request.GET.get("wait", "")
    if word not in {"", "no", "none", "all", "nodes"}:
        raise Refusal(
            422, f"'wait' request parameter value '{shorten_text(word)}' is not supported: use wait=all or wait=nodes"
        )
    text = request.GET.get("timeout", "")
    try:
        seconds = float(text) if text else USUAL_SECONDS
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= LONGEST_WAIT:
        raise Refusal(422, f"'timeout' must be a number of seconds up to {LONGEST_WAIT:.0f}")
    return Wait(seconds, word == "all") if word in {"all", "nodes"} else None


def wait_for_all(request: Request, publication: Publication | None, wait: Wait | None) -> None:
    """Wait until all requested servers have confirmed the publication.

    After the timeout, raise Refusal (504) with the servers that don't have it yet. If too many requests already wait,
    raise Refusal (504) immediately. Raise TakenBack (422) as soon as the canary can't serve the publication.
    """
    if publication is None or wait is None:
        return
    waited = wait_for_nodes(publication, wait.seconds, with_secondaries=wait.with_secondaries)
    if waited:
        return
    late = [node for node in arrivals(publication, now=timezone.now()) if not node.has_it]
    lacking = secondaries_lacking(publication) if wait.with_secondaries else []
    if late or lacking:
        raise Refusal(504, _describe(request, publication, None if waited is None else wait.seconds, late, lacking))


def _describe(
    request: Request,
    publication: Publication,
    seconds: float | None,
    late: Sequence[NodeArrival],
    lacking: Sequence[Lacking],
) -> str:
    """Return the error message that lists the servers that don't have the saved change yet.

    `seconds` is None if the request didn't wait because too many others did. The message contains the names of nodes
    and secondaries only if the actor is allowed to see the fleet.
    """
    named = ""
    if can(actor_in(request), Permission.FLEET):
        texts = [*(f"{each.node.name}: {each.message}" for each in late), *(each.text for each in lacking)]
        named = ": " + "; ".join(texts)
    counts = ((len(late), "node", "nodes"), (len(lacking), "secondary", "secondaries"))
    who = " and ".join(f"{count} {one if count == 1 else more}" for count, one, more in counts if count)
    how_long = "yet, and too many requests wait already" if seconds is None else f"within {seconds:g} s"
    return (
        f"The change is saved (sequence {publication.sequence}) and on its way, "
        f"but {who} did not answer with it {how_long}{named}"
    )
