"""URLs of alerts, included by `web.urls`."""

from django.urls import path

from dnspanel.web.alerts import pages, routes

urlpatterns = [
    path("frame/alerts/", pages.alert_pill, name="alert-bell"),
    path("alerts/", pages.alert_list, name="alert-list"),
    path("alerts/mark/<str:act>/", pages.alert_mark, name="alert-mark"),
    path("alerts/history/", pages.alert_history, name="alert-history"),
    path("alerts/routes/", routes.route_list, name="alert-routes"),
    path("alerts/routes/new/", routes.route_new, name="alert-route-new"),
    path("alerts/routes/<int:route_id>/", routes.route_detail, name="alert-route"),
    path("alerts/routes/<int:route_id>/change/", routes.route_change, name="alert-route-change"),
    path("alerts/routes/<int:route_id>/test/", routes.route_test, name="alert-route-test"),
    path("alerts/routes/<int:route_id>/switch/", routes.route_switch, name="alert-route-switch"),
    path("alerts/routes/<int:route_id>/rotate/", routes.route_rotate, name="alert-route-rotate"),
    path("alerts/routes/<int:route_id>/delete/", routes.route_delete, name="alert-route-delete"),
]
