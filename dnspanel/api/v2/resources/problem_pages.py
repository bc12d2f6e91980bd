"""API resources that explain each kind of problem, at the URL in a problem's `type`. No token is needed."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.api.v2.http.pages import page_answer
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES, ProblemType
from dnspanel.api.v2.http.problems import ROOT_URL, Problem
from dnspanel.api.v2.http.view import JSONOnly, ProblemOnly, V2View, answer
from dnspanel.api.v2.schema.fields import Shape, page_of
from dnspanel.api.v2.schema.row_json import row_json


class KindSerializer(Shape):
    """A kind of problem: its code, status and title, the cause, and the remedy."""

    type = serializers.CharField()
    code = serializers.CharField()
    status = serializers.IntegerField()
    title = serializers.CharField()
    cause = serializers.CharField(help_text="Cause of the problem.")
    remedy = serializers.CharField(help_text="Advice for the client.")


class PageForBrowsers(JSONOnly):
    """A renderer for requests whose `Accept` prefers HTML. The view itself renders the page."""

    media_type = "text/html"
    format = "html"


class KindView(V2View):
    """Base class for views of problem kinds, which return JSON to programs and a page to browsers."""

    permission_classes = ()  # the pages are the same for every client and contain no personal data
    authentication_classes = ()
    renderer_classes: Any = (JSONOnly, ProblemOnly, PageForBrowsers)

    def page_or(self, json: HttpResponse, request: Request, template: str, **context: Any) -> HttpResponse:
        """Return the rendered page if the client prefers HTML, and the JSON response otherwise."""
        if request.accepted_renderer.format == PageForBrowsers.format:
            return render(request._request, template, context)
        return json


class KindList(KindView):
    @extend_schema(operation_id="listProblems", auth=[], responses=page_of(KindSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List the kinds of problems.

        Lists all problem codes that this API returns. No token is needed.
        """
        kinds = PROBLEM_TYPES.values()
        page = page_answer(request, [_kind_json(kind) for kind in kinds])
        return self.page_or(page, request, "docs/problems.html", kinds=kinds)


class KindDetail(KindView):
    @extend_schema(operation_id="getProblem", auth=[], responses={200: KindSerializer})
    def get(self, request: Request, code: str) -> HttpResponse:
        """Read a kind of problem.

        Returns the meaning of the problem's code, and how to fix the problem. A problem's `type` is the URL of this
        resource. No token is needed.
        """
        kind = PROBLEM_TYPES.get(code)
        if kind is None:
            raise Problem("not-found", "No problem has this code. `GET /problems` lists all codes.")
        return self.page_or(answer(_kind_json(kind)), request, "docs/problem.html", kind=kind)


def _kind_json(kind: ProblemType) -> dict[str, object]:
    return row_json(KindSerializer, kind, type=f"{ROOT_URL}/{kind.code}")
