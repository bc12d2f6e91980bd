"""URLs of delivery; they belong to Nodes in the navigation."""

from django.urls import path

from dnspanel.web import delivery

urlpatterns = [
    path("delivery/", delivery.delivery, name="node-delivery"),
    path("delivery/groups/new/", delivery.group_new, name="node-group-new"),
    path("delivery/groups/<int:group_id>/<str:act>/", delivery.group_act, name="node-group-act"),
    path("delivery/<str:act>/", delivery.delivery_act, name="node-delivery-act"),
]
