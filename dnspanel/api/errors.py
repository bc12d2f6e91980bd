"""The exceptions of the APIs as one tree. Views translate errors of other packages into exceptions of their API.

ApiError
├── Refusal               (v1.view) an error response with PowerDNS's text
├── Problem               (v2.http.problems) an error response with problem details
├── ScimFault             (scim.faults) a SCIM error response
├── NotAnAddress          (dyndns) an address parameter isn't an address that a host can have
├── NotObeyed             (v1.acting_metadata) a zone's metadata would have no effect here
├── TooMuchMetadata       (v1.kept_metadata) a zone's metadata would be too large
└── TooGeneral            (v1.search_query) a search would compare too much
"""


class ApiError(Exception):
    """The base class of the APIs' exceptions. The request can't be carried out as sent."""
