"""Where the `type` of a problem leads: each kind explains itself, to people without a token too."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.api.v2.http.answers import answer
from dnspanel.api.v2.http.pages import page_answer
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES, ProblemType
from dnspanel.api.v2.http.problems import ROOT_URL, Problem
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.schema.fields import Shape, page_of


class KindSerializer(Shape):
    """A kind of problem."""

    type = serializers.CharField()
    code = serializers.CharField()
    status = serializers.IntegerField()
    title = serializers.CharField()
    meaning = serializers.CharField()


class KindList(V2View):
    """Every kind of problem that this API answers with."""

    permission_classes = ()  # says the same to everybody, and nothing of anybody
    authentication_classes = ()

    @extend_schema(operation_id="listProblems", auth=[], responses=page_of(KindSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List the kinds of problems.

        All codes that this API answers with. No token is needed.
        """
        return page_answer(request, [_kind_json(kind) for kind in PROBLEM_TYPES.values()])


class KindDetail(V2View):
    """One kind of problem."""

    permission_classes = ()
    authentication_classes = ()

    @extend_schema(operation_id="getProblem", auth=[], responses={200: KindSerializer})
    def get(self, request: Request, code: str) -> HttpResponse:
        """Read a kind of problem.

        The `type` of a problem leads here: what the code means and what to do. No token is needed.
        """
        kind = PROBLEM_TYPES.get(code)
        if kind is None:
            raise Problem("not-found", "There is no such kind of problem.")
        return answer(_kind_json(kind))


def _kind_json(kind: ProblemType) -> dict[str, object]:
    return {
        "type": f"{ROOT_URL}/{kind.code}",
        "code": kind.code,
        "status": kind.status,
        "title": kind.title,
        "meaning": kind.meaning,
    }
