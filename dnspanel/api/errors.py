"""The exceptions of the APIs as one tree. Views translate errors of zones, accounts and other packages.

ApiError
├── Refusal               (v1.view) an answer with a status in PowerDNS's words
├── Problem               (v2.http.problems) an answer as problem details
├── ScimFault             (scim.faults) an answer in SCIM's shape
├── NotAnAddress          (dyndns) an address parameter holds something else
├── NotObeyed             (v1.acting_metadata) a zone's metadata would have no effect here
├── TooMuchMetadata       (v1.kept_metadata) a zone's metadata would be too large
└── TooGeneral            (v1.search_query) a search would compare too much
"""


class ApiError(Exception):
    """The base class of the APIs' exceptions: a request that can't be carried out as sent."""
