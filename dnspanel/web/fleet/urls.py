"""URLs of nodes, their rollout and a hold; included by `web.urls`."""

from django.urls import path

from dnspanel.web.fleet import fronts, hold, join, keys, matrix, node, nodes, rollout, secondaries, top

urlpatterns = [
    path("nodes/", nodes.node_list, name="node-list"),
    path("hold/", hold.hold_page, name="node-hold"),
    path("hold/again/", hold.hold_again, name="node-hold-again"),
    path("hold/decide/", hold.hold_decide, name="node-hold-decide"),
    path("hold/zones/<int:pk>/", hold.hold_zone, name="node-hold-zone"),
    path("add-node/", join.node_new, name="node-new"),
    path("fleet/rows/", nodes.node_rows, name="node-rows"),
    path("fleet/act/", nodes.node_acts, name="node-acts"),
    path("fleet/matrix/", matrix.node_matrix, name="node-matrix"),
    path("fleet/keys/", keys.node_keys, name="node-keys"),
    path("fleet/keys/<str:act>/", keys.node_keys_act, name="node-keys-act"),
    path("nodes/<slug:name>/", node.node_detail, name="node-detail"),
    path("nodes/<slug:name>/points/", node.node_points, name="node-points"),
    path("nodes/<slug:name>/top/", top.node_top, name="node-top"),
    path("nodes/<slug:name>/enrolment/", join.node_enrollment, name="node-enrolment"),
    path("nodes/<slug:name>/change/", join.node_change, name="node-change"),
    path("nodes/<slug:name>/front/", fronts.front_settings, name="front-settings"),
    path("nodes/<slug:name>/<str:act>/", node.node_act, name="node-act"),
    path("delivery/", rollout.delivery, name="node-delivery"),
    path("delivery/groups/new/", rollout.group_new, name="node-group-new"),
    path("delivery/groups/<int:group_id>/<str:act>/", rollout.group_act, name="node-group-act"),
    path("delivery/<str:act>/", rollout.delivery_act, name="node-delivery-act"),
    path("secondaries/", secondaries.secondary_list, name="secondary-list"),
    path("secondaries/new/", secondaries.secondary_new, name="secondary-new"),
    path("secondaries/<int:secondary_id>/", secondaries.secondary_detail, name="secondary-detail"),
    path("secondaries/<int:secondary_id>/change/", secondaries.secondary_change, name="secondary-change"),
    path("secondaries/<int:secondary_id>/notify/", secondaries.secondary_notify, name="secondary-notify"),
    path("secondaries/<int:secondary_id>/rotate/", secondaries.secondary_rotate, name="secondary-rotate"),
    path("secondaries/<int:secondary_id>/delete/", secondaries.secondary_delete, name="secondary-delete"),
]
