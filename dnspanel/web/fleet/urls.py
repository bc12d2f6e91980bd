"""URLs of delivery; they belong to Nodes in the navigation."""

from django.urls import path

from dnspanel.web.fleet import rollout

urlpatterns = [
    path("delivery/", rollout.delivery, name="node-delivery"),
    path("delivery/groups/new/", rollout.group_new, name="node-group-new"),
    path("delivery/groups/<int:group_id>/<str:act>/", rollout.group_act, name="node-group-act"),
    path("delivery/<str:act>/", rollout.delivery_act, name="node-delivery-act"),
]
