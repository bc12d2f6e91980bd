"""Name the enumerations in the OpenAPI document, so that generated clients have one type for each. Pure.

A set of values has the same name wherever it is used. This module lists each name with one place where the values
occur. Names aren't derived from other names in the document, because a new field elsewhere would then rename a type in
every client.
"""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
Enums = dict[str, Schema]

# Name → a place with these values: `Component.member`, `Component.member[]` or `operationId?parameter`.
NAMES = {
    "ActorKind": "Actor.kind",
    "ApexOption": "OptionsRequest.soa",
    "ApproverRole": "ApprovalRule.approver_role",
    "AuditKind": "Act.kind",
    "CatalogListingState": "CatalogListing.state",
    "CatalogState": "Catalog.state",
    "ChangeOp": "ChangeOrderRequest.op",
    "ChangeRunOutcome": "ChangeRunZone.outcome",
    "ChangeTarget": "BulkRequest.into",
    "Channel": "Revision.channel",
    "ConflictSide": "ResolveRequest.choice",
    "CsvDelimiter": "CsvRequest.delimiter",
    "DeliveryState": "Delivery.state",
    "DenialMethod": "Denial.method",
    "EventType": "Delivery.event",
    "EvidenceKind": "EvidenceDestination.kind",
    "EvidenceState": "EvidenceProgress.state",
    "ExistingZoneOption": "OptionsRequest.existing",
    "ExportFormat": "Export.format",
    "FoundKind": "Found.kind",
    "HookAnswer": "HookReply.answer",
    "HookSilence": "PublishHook.when_silent",
    "ImportAct": "actOnImport?act",
    "ImportChoice": "ImportZone.choice",
    "ImportSource": "NewImportRequest.source",
    "ImportState": "Import.state",
    "ImportZoneAction": "ImportZone.action",
    "KeyRole": "Key.role",
    "LdapGroups": "LdapAttributes.groups",
    "ListOrder": "listPublications?order",
    "ListedImportSource": "ListedImport.source",
    "NewZoneOption": "OptionsRequest.new",
    "NodeAct": "actOnNode?act",
    "NodeHealth": "Node.health",
    "NodeState": "Node.state",
    "NodeVerdict": "DnssecNode.verdict",
    "OperationMark": "Operation.mark",
    "ParentPointVerdict": "ParentPoint.verdict",
    "ParentState": "ParentCheck.state",
    "Permission": "Token.permissions[]",
    "PointStep": "getNodePoints?step",
    "PolicyRunAct": "PolicyRunZone.act",
    "ProviderKind": "listSignInProviders?kind",
    "QuotaKind": "Quota.kind",
    "RRsetActOp": "ActRequest.op",
    "ReachState": "Reach.state",
    "ReasonSource": "Reason.source",
    "RequestAct": "actOnRequest?act",
    "RequestFilter": "listRequests?which",
    "RevisionKind": "Revision.kind",
    "Right": "Scope.rights[]",
    "RightSource": "RightsHere.source",
    "RolePermission": "Role.permissions[]",
    "RolloverKindName": "Rollover.kind",
    "RolloverStepName": "RolloverStep.step",
    "RolloverStepState": "RolloverStep.state",
    "RunActOp": "RunAct.op",
    "RunState": "ChangeRun.state",
    "ScimTeamRole": "ScimDirectory.team_role",
    "SecondaryKind": "Secondary.kind",
    "SecondaryTransport": "Secondary.transport",
    "SecondaryZones": "Secondary.choice",
    "Severity": "Violation.severity",
    "SignaturesOption": "OptionsRequest.signatures",
    "SqlKind": "PowerdnsSqlRequest.kind",
    "TeamRole": "Member.role",
    "TemplateKind": "Template.kind",
    "TemplateRunOutcome": "TemplateRunZone.outcome",
    "TemplateStepAct": "TemplateStep.act",
    "TokenState": "Token.state",
    "TransferKind": "TransferredZone.transferred_how",
    "TsigAlgorithm": "TsigKey.algorithm",
    "UndoTarget": "UndoRequest.into",
    "UserRole": "User.role",
    "VariableKind": "TemplateVariable.kind",
    "WaitFor": "getPublication?wait_for",
    "WebhookEvent": "Webhook.events[]",
    "WebhookFormat": "Webhook.format",
    "ZoneActOp": "ZonesActRequest.op",
}


def name_enums(document: Schema) -> None:
    """Convert every enumeration in `NAMES` to a component, and refer to it wherever its values occur.

    Raise LookupError if a listed place has no enumeration. Raise ValueError if a name or a set of values occurs twice.
    """
    schemas: Schema = document["components"]["schemas"]
    places = dict(inline_enums(document))
    names: dict[frozenset[str], str] = {}
    for name, place in NAMES.items():
        values = [value for value in places[place]["enum"] if value is not None]
        if name in schemas or names.setdefault(frozenset(values), name) != name:
            raise ValueError(f"{name}: another schema has this name, or these values")
        schemas[name] = {"type": "string", "enum": values}
    for schema in places.values():
        name_of = names.get(frozenset(value for value in schema["enum"] if value is not None))
        if name_of is not None:
            _refer(schema, f"#/components/schemas/{name_of}")
    document["components"]["schemas"] = dict(sorted(schemas.items()))


def inline_enums(document: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield each enumeration that isn't a component, with its place in the format of `NAMES`."""
    for name, schema in document["components"]["schemas"].items():
        for member, value in schema.get("properties", {}).items():
            yield from _within(f"{name}.{member}", value)
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                yield from _within(f"{operation['operationId']}?{parameter['name']}", parameter["schema"])


def _within(place: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    if "enum" in schema:
        yield place, schema
    if "items" in schema:
        yield from _within(f"{place}[]", schema["items"])


def _refer(schema: Schema, reference: str) -> None:
    """Replace the schema's enumeration with a reference to a component. Keep its other keywords."""
    is_nullable = None in schema.pop("enum")
    del schema["type"]
    if is_nullable:
        schema["oneOf"] = [{"$ref": reference}, {"type": "null"}]
    elif schema:
        schema["allOf"] = [{"$ref": reference}]
    else:
        schema["$ref"] = reference
