"""Where the `type` of a problem leads: each kind explains itself, to people without a token too."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.api.v2.http.answers import answer
from dnspanel.api.v2.http.pages import page_answer
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES, ProblemType
from dnspanel.api.v2.http.problems import ROOT_URL, Problem
from dnspanel.api.v2.http.view import JSONOnly, ProblemOnly, V2View
from dnspanel.api.v2.schema.fields import Shape, page_of


class KindSerializer(Shape):
    """A kind of problem."""

    type = serializers.CharField()
    code = serializers.CharField()
    status = serializers.IntegerField()
    title = serializers.CharField()
    cause = serializers.CharField(help_text="What happened.")
    remedy = serializers.CharField(help_text="What a client does about it.")


class PageForBrowsers(JSONOnly):
    """Chosen where `Accept` prefers HTML; the page is made by the view."""

    media_type = "text/html"
    format = "html"


class KindView(V2View):
    """Base of the views of kinds: JSON for programs, a page for browsers."""

    permission_classes = ()  # says the same to every client, and nothing about people
    authentication_classes = ()
    renderer_classes: Any = (JSONOnly, ProblemOnly, PageForBrowsers)

    def page_or(self, json: HttpResponse, request: Request, template: str, **context: Any) -> HttpResponse:
        """Return the page for browsers, or the JSON for everyone else."""
        if request.accepted_renderer.format == PageForBrowsers.format:
            return render(request._request, template, context)
        return json


class KindList(KindView):
    """Every kind of problem that this API answers with."""

    @extend_schema(operation_id="listProblems", auth=[], responses=page_of(KindSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List the kinds of problems.

        All codes that this API answers with. No token is needed.
        """
        kinds = PROBLEM_TYPES.values()
        page = page_answer(request, [_kind_json(kind) for kind in kinds])
        return self.page_or(page, request, "docs/problems.html", kinds=kinds)


class KindDetail(KindView):
    """One kind of problem."""

    @extend_schema(operation_id="getProblem", auth=[], responses={200: KindSerializer})
    def get(self, request: Request, code: str) -> HttpResponse:
        """Read a kind of problem.

        The `type` of a problem leads here: what the code means and what to do. No token is needed.
        """
        kind = PROBLEM_TYPES.get(code)
        if kind is None:
            raise Problem("not-found", "There is no such kind of problem. `GET /problems` lists all.")
        return self.page_or(answer(_kind_json(kind)), request, "docs/problem.html", kind=kind)


def _kind_json(kind: ProblemType) -> dict[str, object]:
    return {
        "type": f"{ROOT_URL}/{kind.code}",
        "code": kind.code,
        "status": kind.status,
        "title": kind.title,
        "cause": kind.cause,
        "remedy": kind.remedy,
    }
