"""URLs of tokens, webhooks, the audit log and the API's documentation; included by `web.urls`."""

from django.urls import path

from dnspanel.web.access import audit, tokens, webhooks
from dnspanel.web.docs import pages

urlpatterns = [
    path("tokens/", tokens.token_list, name="token-list"),
    path("tokens/new/<slug:preset>/", tokens.token_new, name="token-new"),
    path("tokens/<int:token_id>/", tokens.token_detail, name="token-detail"),
    path("tokens/<int:token_id>/rotate/", tokens.token_rotate, name="token-rotate"),
    path("tokens/<int:token_id>/revoke/", tokens.token_revoke, name="token-revoke"),
    path("webhooks/", webhooks.webhook_list, name="webhook-list"),
    path("webhooks/new/", webhooks.webhook_new, name="webhook-new"),
    path("webhooks/<int:webhook_id>/", webhooks.webhook_detail, name="webhook-detail"),
    path("webhooks/<int:webhook_id>/change/", webhooks.webhook_change, name="webhook-change"),
    path("webhooks/<int:webhook_id>/ping/", webhooks.webhook_ping, name="webhook-ping"),
    path("webhooks/<int:webhook_id>/switch/", webhooks.webhook_switch, name="webhook-switch"),
    path("webhooks/<int:webhook_id>/rotate/", webhooks.webhook_rotate, name="webhook-rotate"),
    path("webhooks/<int:webhook_id>/delete/", webhooks.webhook_delete, name="webhook-delete"),
    path("webhooks/deliveries/<int:delivery_id>/replay/", webhooks.webhook_replay, name="webhook-replay"),
    path("audit/", audit.audit_log, name="audit-log"),
    path("docs/api/", pages.api_docs, name="docs-api"),
    path("docs/api/openapi.json", pages.api_document, name="docs-api-document"),
    path("docs/api/<slug:page>/", pages.api_docs, name="docs-api-page"),
]
