"""URLs of the signing of zones; included by `web.urls`, which registers the `zone` converter."""

from django.urls import path

from dnspanel.web.dnssec import keys, pages

urlpatterns = [
    path("zones/<zone:zone_name>/dnssec/", pages.zone_dnssec, name="zone-dnssec"),
    path("zones/<zone:zone_name>/dnssec/nodes/", pages.dnssec_nodes, name="zone-dnssec-nodes"),
    path("zones/<zone:zone_name>/dnssec/parent/", pages.dnssec_parent, name="zone-dnssec-parent"),
    path("zones/<zone:zone_name>/dnssec/sign/", pages.dnssec_sign, name="zone-dnssec-sign"),
    path("zones/<zone:zone_name>/dnssec/unsign/", pages.dnssec_unsign, name="zone-dnssec-unsign"),
    path("zones/<zone:zone_name>/dnssec/denial/", pages.dnssec_denial, name="zone-dnssec-denial"),
    path("zones/<zone:zone_name>/dnssec/cds/", pages.dnssec_cds, name="zone-dnssec-cds"),
    path("zones/<zone:zone_name>/dnssec/keys/", keys.key_add, name="zone-dnssec-key-add"),
    path("zones/<zone:zone_name>/dnssec/keys/<int:key_id>/", keys.key_set, name="zone-dnssec-key"),
    path("zones/<zone:zone_name>/dnssec/keys/<int:key_id>/delete/", keys.key_delete, name="zone-dnssec-key-delete"),
    path("zones/<zone:zone_name>/dnssec/keys/<int:key_id>/export/", keys.key_export, name="zone-dnssec-key-export"),
]
