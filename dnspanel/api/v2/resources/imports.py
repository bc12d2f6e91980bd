"""API resources to create, follow, publish, cancel and undo imports, and to change their options.

Each step needs its own request, so that the client can review the plan before anything is published.
"""

from collections.abc import Callable
from typing import Any

from django.db.models import Sum
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_form
from dnspanel.api.v2.http.dry_run import reasons_in
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import MOST_ZONES, Problem, bad_value, needs_confirmation
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, no_content
from dnspanel.api.v2.resources import import_sources as sources
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Shape, Text, page_of, read
from dnspanel.api.v2.schema.query_parameters import DRY_RUN
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.field_faults import ADDRESS_REFUSED
from dnspanel.transfer.documents import Options
from dnspanel.transfer.errors import ServerRefused
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ImportJob, SourceKind, State
from dnspanel.transfer.sealed_keys import MOST_CHARACTERS
from dnspanel.zones.errors import Forbidden, GuardedZone
from dnspanel.zones.rights import access

ACTS: dict[str, Callable[..., Any]] = {
    "scan": import_jobs.start_scan,
    "plan": import_jobs.start_plan,
    "apply": import_jobs.start_apply,
    "replan": import_jobs.replan_waiting,
    "pause": import_jobs.pause,
    "resume": import_jobs.resume,
    "cancel": import_jobs.cancel,
    "undo": import_jobs.start_undo,
}
_IN_THE_NAME_OF = ("apply", "undo")  # the steps that publish


class ProgressSerializer(serializers.Serializer):
    """The progress of the current phase of an import."""

    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Bytes or zones in total; 0: unknown.")
    unit = serializers.CharField(help_text="Unit of `done` and `total`: `bytes` or `zones`.")
    percent = serializers.IntegerField()
    zones = serializers.IntegerField()
    records = serializers.IntegerField()
    errors = serializers.IntegerField(help_text="Zones that cannot be imported.")
    applied = serializers.IntegerField(help_text="Zones that were published.")
    per_second = serializers.FloatField(help_text="Recent records per second.")
    seconds = serializers.FloatField(help_text="Seconds since the start of the phase.")
    seconds_left = serializers.FloatField(allow_null=True, help_text="Estimated seconds to the end.")


class DryRunSerializer(serializers.Serializer):
    """The numbers of zones and of RRsets that publishing the import would change."""

    creates = serializers.IntegerField(help_text="Zones that would be created.")
    unions = serializers.IntegerField(help_text="Zones that would get the source's values in addition to their own.")
    rrset_replaces = serializers.IntegerField(help_text="Zones whose RRsets would be replaced by the source's.")
    replaces = serializers.IntegerField(help_text="Zones that would be replaced as a whole.")
    unchanged = serializers.IntegerField(help_text="Zones that would not change.")
    skipped = serializers.IntegerField(help_text="Zones that are skipped.")
    failed = serializers.IntegerField(help_text="Zones with errors.")
    duplicates = serializers.IntegerField(help_text="Zones that are in the source more than once.")
    waiting = serializers.IntegerField(help_text="Zones that changed after the dry run; `replan` plans them again.")
    undecided = serializers.IntegerField(help_text="Zones that wait for a choice.")
    guarded = serializers.IntegerField(help_text="Zones that would lose much: `apply` then needs `confirm`.")
    added = serializers.IntegerField(help_text="RRsets that would be added.")
    changed = serializers.IntegerField(help_text="RRsets that would change.")
    removed = serializers.IntegerField(help_text="RRsets that would be removed.")
    values_removed = serializers.IntegerField(help_text="Values that would be removed, also from RRsets that change.")


class ImportSerializer(Shape):
    """An import: its source, options, progress and plan."""

    id = serializers.IntegerField(read_only=True)
    title = Text(max_length=200, required=False, help_text="Title in lists; generated if omitted.")
    source = Choice(choices=sources.SOURCES)
    state = serializers.ChoiceField(choices=State.choices, read_only=True)
    paused = serializers.BooleanField(read_only=True, help_text="True if a person paused the import.")
    failure = serializers.CharField(read_only=True, help_text="Reason of the failure or wait.")
    created_by = ActorSerializer(allow_null=True)
    options = sources.OptionsSerializer(required=False)
    progress = ProgressSerializer(read_only=True)
    plan = DryRunSerializer(read_only=True, allow_null=True, help_text="Plan after a dry run.")
    last_sequence = serializers.IntegerField(
        read_only=True, help_text="Sequence of the last publication, once all is published; 0: none."
    )
    created_at = serializers.DateTimeField(read_only=True)
    ended_at = serializers.DateTimeField(read_only=True, allow_null=True)


class ImportStepSerializer(ImportSerializer):
    """An import after a step.

    In a dry run, `reasons` lists why the step needs `confirm`.
    """

    reasons = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="In a dry run: reasons why the step would need `confirm`.",
    )


class NewImportSerializer(ImportSerializer):
    """An import to create.

    If the source is a set of files, upload the files after creating the import. The panel starts to read other sources
    at once.
    """

    paste = sources.PasteSerializer(write_only=True, required=False)
    axfr = sources.AxfrSerializer(write_only=True, required=False)
    powerdns_api = sources.PowerdnsApiSerializer(write_only=True, required=False)
    powerdns_sql = sources.PowerdnsSqlSerializer(write_only=True, required=False)
    csv = sources.CsvSerializer(write_only=True, required=False)
    keys_passphrase = Text(
        write_only=True,
        required=False,
        max_length=MOST_CHARACTERS,
        help_text="For the source `json`: passphrase that decrypts the private DNSSEC keys of an export.",
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        needed = sources.MEMBERS.get(data["source"])
        for member in sources.MEMBERS.values():
            if member == needed and member not in data:
                raise serializers.ValidationError({member: [f"`{member}` is required for this source."]}, "required")
            if member != needed and member in data:
                raise serializers.ValidationError(
                    {member: [f"`{member}` does not fit the source {data['source']}: leave it out."]}, NOT_TOGETHER
                )
        if "keys_passphrase" in data and data["source"] != SourceKind.JSON:
            raise serializers.ValidationError({"keys_passphrase": ["Works only with the source json."]}, NOT_TOGETHER)
        return data


class ListedImportSerializer(serializers.Serializer):
    """An import in the list of imports."""

    id = serializers.IntegerField()
    title = serializers.CharField()
    source = serializers.ChoiceField(choices=SourceKind.choices)
    state = serializers.ChoiceField(choices=State.choices)
    paused = serializers.BooleanField(help_text="True if a person paused the import.")
    created_by = ActorSerializer(allow_null=True)
    zones = serializers.IntegerField()
    records = serializers.IntegerField()
    errors = serializers.IntegerField()
    published = serializers.IntegerField(help_text="Number of published zones.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class ChangeImportSerializer(Shape):
    """The fields that can be changed while an import is waiting."""

    options = sources.OptionsSerializer()


class ImportActSerializer(Shape):
    """The options for steps of an import."""

    confirm = Flag(default=False, help_text="Confirmation for `apply` or `undo` if zones lose much.")


class Imports(V2View):
    @api_operation("listImports", page_of(ListedImportSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List imports.

        A token that can edit every zone sees all imports. Other tokens see the imports that they created. The newest
        import comes first. Needs the permission `edit`, and a token that can add whole zones.
        """
        page, actor = page_request(request, int), require_imports(self.actor)
        before = page.after[0] if page.after else None
        rows, more = cut(queries.jobs_page(actor, before=before, limit=page.limit + 1), page.limit)
        return page_answer(request, [_summary_json(row) for row in rows], (rows[-1].job.pk,) if more else None)

    @api_operation("createImport", {201: ImportSerializer}, request=NewImportSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create an import.

        After this, upload files and run `scan`, or wait while the panel reads the source. Then review the zones, and
        run `plan` and `apply`. Nothing is published before `apply`. Needs the permission `edit`, and a token that can
        add whole zones.
        """
        actor = require_imports(self.actor)
        job = _create(request, actor, read(NewImportSerializer, request.data))
        return _answer(job, 201, Location=f"{request.path}/{job.pk}")


class OneImport(V2View):
    @api_operation("getImport", ImportSerializer)
    def get(self, request: Request, import_id: int) -> HttpResponse:
        """Read an import.

        Returns the import's state, progress and counts. Needs the permission `edit`.
        """
        return _answer(job_of(request, import_id))

    @api_operation("changeImport", ImportSerializer, request=ChangeImportSerializer)
    def patch(self, request: Request, import_id: int) -> HttpResponse:
        """Change the options of an import.

        Options can be changed while the import waits for choices or for `apply`. Run `plan` again afterwards. Needs the
        permission `edit`.
        """
        job = job_of(request, import_id)
        values = read(ChangeImportSerializer, request.data)
        with conditional_write(request, f"import/{import_id}", lambda: stable(job_of(request, import_id))):
            options = sources.options_of(values["options"], Options.from_json(job.options))
            import_jobs.set_options(job=job, options=options, now=timezone.now())
        return _answer(job_of(request, import_id))

    @api_operation("deleteImport", {204: None})
    def delete(self, request: Request, import_id: int) -> HttpResponse:
        """Delete an import.

        Deletes the import and its files. Published changes stay. Returns 409 while the import runs. Needs the
        permission `edit`.
        """
        job = job_of(request, import_id)
        with conditional_write(request, f"import/{import_id}", lambda: stable(job_of(request, import_id))):
            import_jobs.delete_job(job=job)
        return no_content()


class ImportAct(V2View):
    """View that runs a step of an import, such as plan, apply or undo."""

    conditional = True

    @api_operation(
        "actOnImport",
        ImportStepSerializer,
        OpenApiParameter("act", str, OpenApiParameter.PATH, enum=list(ACTS)),
        DRY_RUN,
        request=ImportActSerializer,
    )
    def post(self, request: Request, import_id: int, act: str) -> HttpResponse:
        """Scan, plan, apply, pause, resume, cancel or undo an import.

        `scan` reads the uploaded files. `plan` is a dry run. `apply` publishes the planned changes, in several
        publications. `replan` makes a new plan for zones that changed after the dry run. `undo` reverts the published
        changes, except where someone has changed the zone since then. Needs the permission `edit`, and the rights over
        the zones.

        With `dry_run`, the response shows the import as it would be after the step. `reasons` lists the reasons why
        `apply` or `undo` needs `confirm`.
        """
        job = job_of(request, import_id)
        if act not in ACTS:
            raise Problem("not-found", f"There is no act {act[:40]}.")
        values = read(ImportActSerializer, request.data)
        with conditional_write(request, f"import/{import_id}", lambda: stable(job_of(request, import_id))):
            _refuse(job, act, confirmed=values["confirm"])
            more: dict[str, Any] = {"author": self.actor} if act in _IN_THE_NAME_OF else {}
            if act == "undo":
                more["confirmed"] = values["confirm"]
            ACTS[act](job=job, now=timezone.now(), **more)
        job = job_of(request, import_id)
        body = {**import_json(job), "reasons": reasons_in(rehearsal.under_way())}
        return answer(body, headers={"ETag": tag_of(stable(job))})


def require_imports(actor: Actor) -> Actor:
    """Return the actor. Raise Forbidden if the actor is not allowed to import.

    An import adds whole zones, so a token that is limited to some names or types can't import.
    """
    access.require(actor, Permission.EDIT)
    if actor.scope is not None and not any(Right.ADD in grant.rights and not grant.is_limited for grant in actor.scope):
        raise Forbidden(Permission.EDIT)
    return actor


def job_of(request: Request, import_id: int) -> ImportJob:
    """Return the import with this id. Raise Forbidden if the actor can't import, or Unknown if the import is hidden."""
    return queries.job_for(require_imports(actor_in(request)), import_id)


def stable(job: ImportJob) -> dict[str, Any]:
    """Return the values that an import's ETag covers. Progress is not covered, because it changes without a request."""
    return {"id": job.pk, "state": job.state, "paused": job.paused, "options": Options.from_json(job.options).to_json()}


def import_json(job: ImportJob) -> dict[str, Any]:
    """Return the JSON form of an import."""
    planned = job.state in {State.PLANNED, State.APPLYING, State.DONE, State.UNDOING, State.UNDONE}
    plan = queries.plan_summary(job) if planned else None
    return row_json(
        ImportSerializer,
        job,
        created_by=actor_form(job.author.username, job.token) if job.author else None,
        options=Options.from_json(job.options).to_json(),
        progress=row_json(ProgressSerializer, queries.progress(job, now=timezone.now())),
        plan=None if plan is None else row_json(DryRunSerializer, plan),
    )


def _answer(job: ImportJob, status: int = 200, **headers: str) -> HttpResponse:
    return answer(import_json(job), status, headers={"ETag": tag_of(stable(job)), **headers})


def _summary_json(row: queries.JobRow) -> dict[str, Any]:
    job = row.job
    return row_json(
        ListedImportSerializer,
        job,
        created_by=actor_form(job.author.username, job.token) if job.author else None,
        zones=row.zones,
        records=row.records,
        errors=row.errors,
        published=row.published,
    )


def _create(request: Request, actor: Actor, values: dict[str, Any]) -> ImportJob:
    source = values["source"]
    members = dict(values.get(sources.MEMBERS.get(source, ""), {}))
    common: dict[str, Any] = {
        "title": values.get("title") or sources.title_of(source, members),
        "author": actor,
        "now": timezone.now(),
        "form_id": form_id_of(request),
    }
    options = None
    if "options" in values:
        given = values["options"]
        options = sources.options_of(given, import_jobs.default_options(source, given.get("existing", "union")))
    if source == SourceKind.PASTE:
        return import_jobs.create_paste(
            text=members["text"].encode(), zone=members.get("zone", ""), options=options, **common
        )
    parameters, secret = sources.parameters_of(source, members)
    if "keys_passphrase" in values:
        secret = {"keys_passphrase": values["keys_passphrase"]}
    try:
        return import_jobs.create_job(source=source, parameters=parameters, secret=secret, options=options, **common)
    except ServerRefused as exc:
        raise bad_value(f"/{sources.MEMBERS[source]}/{exc.field}", str(exc), ADDRESS_REFUSED) from exc


def _refuse(job: ImportJob, act: str, *, confirmed: bool) -> None:
    """Raise Problem if there are no files to scan, or if `apply` needs `confirm`.

    The step's own function checks all other conditions.
    """
    if act == "scan" and job.state == State.UPLOADING and not upload.uploaded_files(job):
        raise Problem("conflict", "Upload a file first.")
    if act == "apply" and job.state == State.PLANNED and not confirmed:
        plan = queries.plan_summary(job)
        if plan.guarded:
            guarded = queries.guarded_zones(job).order_by("name")
            sums = guarded.aggregate(removed=Sum("removed"), rrsets=Sum("before"))
            reason = f"{plan.guarded:,} zones would lose many records: {plan.values_removed:,} values in all."
            waiting = [_guarded_zone(row) for row in guarded[:MOST_ZONES]]
            totals = {"zones": plan.guarded, **sums}
            rehearsal.hold(needs_confirmation(reason, waiting, reasons=[reason], totals=totals))


def _guarded_zone(row: Any) -> GuardedZone:
    """Return the GuardedZone for a zone that would lose many RRsets, with the reason why it needs confirmation."""
    reason = f"This deletes {row.removed:,} of {row.before:,} RRsets, and {row.values_removed:,} values."
    return GuardedZone(row.name, (reason,), row.removed, row.before)
