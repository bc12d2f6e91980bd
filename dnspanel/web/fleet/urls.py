"""URLs of nodes, their rollout and a hold; included by `web.urls`."""

from django.urls import path

from dnspanel.web.fleet import hold, join, keys, matrix, node, nodes, rollout, top

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
    path("nodes/<slug:name>/<str:act>/", node.node_act, name="node-act"),
    path("delivery/", rollout.delivery, name="node-delivery"),
    path("delivery/groups/new/", rollout.group_new, name="node-group-new"),
    path("delivery/groups/<int:group_id>/<str:act>/", rollout.group_act, name="node-group-act"),
    path("delivery/<str:act>/", rollout.delivery_act, name="node-delivery-act"),
]
