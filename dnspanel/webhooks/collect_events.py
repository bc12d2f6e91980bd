"""Collect new events: everything stored since the last check. Verbs.

Events are read from the database and not passed through tasks. If Redis or a worker fails, the next check finds the
missing events. Events, their deliveries and the new position are committed together.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import actor_form, person_form
from dnspanel.accounts.errors import TokenDead
from dnspanel.fleet.models import Ack, Node, NodeState
from dnspanel.fleet.node_health import WELL, Word
from dnspanel.fleet.reads.queries import NodeStatus, head, watched_statuses
from dnspanel.texts import gettext
from dnspanel.transfer.imports import queries
from dnspanel.transfer.models import ENDED_STATES, ImportJob
from dnspanel.webhooks.access import listener
from dnspanel.webhooks.models import Delivery, Event, EventKind, NodeWatch, Watch, Webhook
from dnspanel.webhooks.numbers import next_numbers
from dnspanel.webhooks.payload import listener_of, moment, told_of
from dnspanel.webhooks.sending_time import due_at
from dnspanel.zones.models import Publication, PublishRequest, RequestState

# The number of publications whose events are collected in one transaction.
BATCH = 200
# A node's state is reported only if it lasts this long, because after a restart of the panel every node looks offline
# until the collector has queried it.
STEADY = timedelta(seconds=6)
# An import gets its end time before the commit. After this time, the commit is certainly visible.
_COMMIT_TIME = timedelta(minutes=10)


def open_watch(*, now: datetime) -> None:
    """Start collecting events from now on, unless they are already collected. Earlier events are ignored."""
    newest = head().sequence
    defaults = {"saved": newest, "everywhere": newest, "looked_at": now}
    _, made = Watch.objects.get_or_create(id=1, defaults=defaults)
    if made:
        NodeWatch.objects.bulk_create(
            [
                NodeWatch(node=status.node, told=word, seen=word, seen_since=now)
                for status in watched_statuses(now=now)
                for word in [_told_word(status.health.word)]
            ],
            ignore_conflicts=True,
        )


def collect_events(*, now: datetime) -> int:
    """Queue deliveries for the events since the last check. Return the number of events.

    Everything happens in one transaction. Return 0 if another process is collecting, or if no webhook was ever created.
    One call doesn't always collect all events, so call it again until it returns 0.
    """
    with transaction.atomic():
        watch = Watch.objects.select_for_update(skip_locked=True).first()
        if watch is None:
            return 0
        webhooks = list(Webhook.objects.filter(active=True).select_related("owner", "token").order_by("pk"))
        subscribed = {kind for webhook in webhooks for kind in webhook.events}
        events = [
            *_events_of_publications(watch, subscribed=EventKind.SAVED in subscribed),
            *_everywhere(watch, subscribed=EventKind.EVERYWHERE in subscribed),
            *(_taken_back(watch) if EventKind.TAKEN_BACK in subscribed else ()),
            *(_events_of_new_requests(watch) if EventKind.OPENED in subscribed else ()),
            *(_events_of_ended_requests(watch) if EventKind.ENDED in subscribed else ()),
            *_node_states(now, subscribed=EventKind.NODE in subscribed),
            *(_imports(watch) if EventKind.IMPORT in subscribed else ()),
        ]
        watch.looked_at = now
        watch.save(update_fields=["saved", "everywhere", "looked_at"])
        if events:
            _tell(webhooks, Event.objects.bulk_create(events), now)
        return len(events)


@dataclass(frozen=True, slots=True)
class EventInput:
    """An event that another module reports. `subject` is its permanent id among the events of its kind."""

    kind: EventKind
    subject: str
    facts: Mapping[str, object]


def tell(happened: Collection[EventInput], *, now: datetime) -> None:
    """Queue the events in `happened` for each webhook that subscribes to them and is allowed to see them.

    Events that are already stored are skipped. Runs in the caller's transaction.
    """
    webhooks = Webhook.objects.filter(active=True, events__overlap=list({each.kind for each in happened}))
    listening = list(webhooks.select_related("owner", "token").order_by("pk")) if happened else []
    if listening:
        events = _fresh(_event(each.kind, each.subject, now, each.facts) for each in happened)
        _tell(listening, Event.objects.bulk_create(events), now)


def _tell(webhooks: Iterable[Webhook], events: Collection[Event], now: datetime) -> None:
    """Queue each event for each webhook that subscribes to it and is allowed to see it.

    A webhook with an invalid owner or token gets one event, so that `deliver_next` switches it off. `webhooks` must be
    sorted by id, which prevents deadlocks between processes.
    """
    deliveries = []
    for webhook in webhooks:
        found = _of_interest(webhook, events, now)
        due = due_at(webhook, now)
        deliveries += [
            Delivery(webhook=webhook, event=event, number=number, created_at=now, next_at=due)
            for number, event in zip(next_numbers(webhook.pk, len(found)), found, strict=True)
        ]
    Delivery.objects.bulk_create(deliveries)


def _of_interest(webhook: Webhook, events: Collection[Event], now: datetime) -> list[Event]:
    subscribed = [event for event in events if event.kind in webhook.events and event.at >= webhook.created_at]
    if not subscribed:
        return []
    try:
        return told_of(listener_of(webhook, listener(webhook, now=now)), subscribed)
    except TokenDead:  # nothing is sent, but `deliver` then switches the webhook off with the reason
        return subscribed[:1]


def _events_of_publications(watch: Watch, *, subscribed: bool) -> list[Event]:
    if not subscribed:
        watch.saved = max(watch.saved, head().sequence)
        return []
    found = list(Publication.objects.filter(sequence__gt=watch.saved).order_by("sequence")[:BATCH])
    if found:
        watch.saved = found[-1].sequence
    return [
        _event(
            EventKind.SAVED,
            f"{publication.epoch}:{publication.sequence}",
            publication.at,
            {"sequence": publication.sequence},
        )
        for publication in found
    ]


def _everywhere(watch: Watch, *, subscribed: bool) -> list[Event]:
    nodes = list(Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).order_by("name"))
    if not nodes:
        return []
    epoch = head().epoch
    acked_by_all = min(node.acked if node.epoch == epoch else 0 for node in nodes)
    if not subscribed or acked_by_all <= watch.everywhere:
        watch.everywhere = max(watch.everywhere, acked_by_all)
        return []
    found = list(
        Publication.objects.filter(
            sequence__gt=watch.everywhere, sequence__lte=acked_by_all, failed_reason=""
        ).order_by("sequence")[:BATCH]
    )
    watch.everywhere = found[-1].sequence if found else acked_by_all
    proofs = {node.name: _proofs(node, found) for node in nodes}
    return [_everywhere_event(publication, proofs) for publication in found]


def _everywhere_event(publication: Publication, proofs: dict[str, Callable[[int], datetime | None]]) -> Event:
    acked = {name: proof(publication.sequence) for name, proof in proofs.items()}
    last = max((at for at in acked.values() if at is not None), default=publication.at)
    details = {
        "sequence": publication.sequence,
        "everywhere_at": moment(last),
        "nodes": [
            {
                "node": name,
                "reached_at": moment(at) if at else None,
                "ms": round((at - publication.at).total_seconds() * 1000, 1) if at else None,
            }
            for name, at in acked.items()
        ],
    }
    return _event(EventKind.EVERYWHERE, f"{publication.epoch}:{publication.sequence}", last, details)


def _taken_back(watch: Watch) -> list[Event]:
    found = Publication.objects.filter(failed_at__gte=watch.looked_at - _COMMIT_TIME).order_by("failed_at")[:BATCH]
    return _fresh(
        _event(
            EventKind.TAKEN_BACK,
            f"{publication.epoch}:{publication.sequence}",
            publication.failed_at,
            {"sequence": publication.sequence},
        )
        for publication in found
        if publication.failed_at is not None
    )


def _proofs(node: Node, publications: Collection[Publication]) -> Callable[[int], datetime | None]:
    """Return a function that maps a sequence to the time when this node first confirmed it, or None. Makes one query.

    The query reads one acknowledgement more than there are sequences between the first and the last publication, which
    is enough to find the first confirmation of each.
    """
    if not publications or node.epoch is None:
        return lambda sequence: None
    sequences = [publication.sequence for publication in publications]
    first = min(sequences)
    acks = list(
        Ack.objects.filter(node=node, epoch=node.epoch, sequence__gte=first)
        .order_by("sequence")
        .values_list("sequence", "at")[: max(sequences) - first + 2]
    )
    return lambda sequence: next((at for acked, at in acks if acked >= sequence), None)


def _node_states(now: datetime, *, subscribed: bool) -> list[Event]:
    """Record node states that have lasted for STEADY as sent. If `subscribed`, return an event for each new state."""
    watches = {watch.node_id: watch for watch in NodeWatch.objects.select_related("node")}
    statuses = {status.node.pk: status for status in watched_statuses(now=now)}
    events = []
    for node in [*(s.node for s in statuses.values()), *(w.node for w in watches.values() if _has_left(w))]:
        status = statuses.get(node.pk)
        word = _told_word(status.health.word) if status else Word.RETIRED
        watch = watches.get(node.pk) or NodeWatch(node=node, told="", seen="", seen_since=now)
        if word != watch.seen:
            watch.seen, watch.seen_since = word, now
            watch.save()
        if word != watch.told and now - watch.seen_since >= STEADY:
            if subscribed:
                events.append(_node_event(node, word, watch, status, now))
            watch.told = word
            watch.save(update_fields=["told"])
    return events


def _node_event(node: Node, word: str, watch: NodeWatch, status: NodeStatus | None, now: datetime) -> Event:
    details = {
        "node": node.name,
        "state": word,
        "was": watch.told or None,
        "since": moment(watch.seen_since),
        "sentence": status.health.message if status else gettext("The node is retired."),
        "acked": node.acked,
        "lag": status.health.lag if status else 0,
    }
    return _event(EventKind.NODE, f"{node.pk}:{uuid4()}", now, details)


def _has_left(watch: NodeWatch) -> bool:
    return watch.node.state == NodeState.RETIRED and watch.told != Word.RETIRED


def _told_word(word: Word) -> str:
    """Return the state to send. Minor states such as "catching up" are sent as live, because they are often brief."""
    return Word.LIVE if word in WELL else word


def _events_of_new_requests(watch: Watch) -> list[Event]:
    found = PublishRequest.objects.filter(asked_at__gte=watch.looked_at - _COMMIT_TIME, draft__isnull=False)
    return _fresh(_request_event(EventKind.OPENED, request, request.asked_at) for request in _with_people(found))


def _events_of_ended_requests(watch: Watch) -> list[Event]:
    found = PublishRequest.objects.filter(ended_at__gte=watch.looked_at - _COMMIT_TIME)
    return _fresh(
        _request_event(EventKind.ENDED, request, request.ended_at)
        for request in _with_people(found)
        if request.ended_at is not None
    )


def _with_people(requests: "QuerySet[PublishRequest]") -> "QuerySet[PublishRequest]":
    return requests.select_related("author", "token", "ended_by").order_by("pk")[:BATCH]


def _request_event(kind: EventKind, request: PublishRequest, at: datetime) -> Event:
    details = {
        "key": str(request.key),
        "name": request.name,
        "state": request.state if kind == EventKind.ENDED else RequestState.OPEN,
        "asked_by": actor_form(request.author.username, request.token) if request.author else None,
        "ended_by": person_form(request.ended_by) if kind == EventKind.ENDED else None,
        "reason": request.reason,
        "publish_at": moment(request.publish_at) if request.publish_at else None,
        "zone_ids": request.zone_ids,
    }
    return _event(kind, f"{request.key}", at, details)


def _fresh(events: Iterable[Event]) -> list[Event]:
    """Return the events that aren't stored yet, without duplicates."""
    by_subject = {event.subject: event for event in events}
    known = set(Event.objects.filter(subject__in=by_subject).values_list("subject", flat=True))
    return [event for subject, event in by_subject.items() if subject not in known]


def _imports(watch: Watch) -> list[Event]:
    ended = ImportJob.objects.select_related("author", "token").filter(
        state__in=ENDED_STATES, ended_at__gte=watch.looked_at - _COMMIT_TIME
    )
    return _fresh(_import_event(job) for job in ended)


def _import_event(job: ImportJob) -> Event:
    assert job.ended_at is not None
    progress = queries.progress(job, now=job.ended_at)
    details = {
        "id": job.pk,
        "title": job.title,
        "source": job.source,
        "state": job.state,
        "created_by": actor_form(job.author.username, job.token) if job.author else None,
        "author_id": job.author_id,
        "created_at": moment(job.created_at),
        "ended_at": moment(job.ended_at),
        "zone_count": progress.zones,
        "records": progress.records,
        "errors": progress.errors,
        "published": progress.applied,
        "failure": job.failure,
    }
    return _event(EventKind.IMPORT, f"{job.pk}:{moment(job.ended_at)}", job.ended_at, details)


def _event(kind: EventKind, subject: str, at: datetime, details: Mapping[str, object]) -> Event:
    return Event(uid=uuid4(), kind=kind, subject=f"{kind}:{subject}", at=at, facts=dict(details))
