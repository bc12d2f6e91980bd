"""URLs of alerts; included by `web.urls`."""

from django.urls import path

from dnspanel.web import alert_routes, alerts

urlpatterns = [
    path("frame/alerts/", alerts.alert_bell, name="alert-bell"),
    path("alerts/", alerts.alert_list, name="alert-list"),
    path("alerts/history/", alerts.alert_history, name="alert-history"),
    path("alerts/routes/", alert_routes.route_list, name="alert-routes"),
    path("alerts/routes/new/", alert_routes.route_new, name="alert-route-new"),
    path("alerts/routes/<int:route_id>/", alert_routes.route_detail, name="alert-route"),
    path("alerts/routes/<int:route_id>/change/", alert_routes.route_change, name="alert-route-change"),
    path("alerts/routes/<int:route_id>/test/", alert_routes.route_test, name="alert-route-test"),
    path("alerts/routes/<int:route_id>/switch/", alert_routes.route_switch, name="alert-route-switch"),
    path("alerts/routes/<int:route_id>/rotate/", alert_routes.route_rotate, name="alert-route-rotate"),
    path("alerts/routes/<int:route_id>/delete/", alert_routes.route_delete, name="alert-route-delete"),
]
