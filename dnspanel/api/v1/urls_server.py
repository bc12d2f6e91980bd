"""URLs for API v1, except those for zones. They don't end in a slash."""

from django.urls import path, register_converter

from dnspanel.api import converters
from dnspanel.api.v1 import (
    autoprimaries,
    cache,
    config,
    cryptokeys,
    discovery,
    docs,
    metadata,
    search,
    statistics,
    tsigkeys,
)

register_converter(converters.NameInPathConverter, "name")

_V1 = "api/v1"
_SERVER = f"{_V1}/servers/<str:server_id>"
_ZONE = f"{_SERVER}/zones/<name:zone_id>"

urlpatterns = [
    path("api", discovery.Versions.as_view(), name="v1-versions"),
    path("api/docs", docs.Docs.as_view(), name="v1-docs"),
    path(_V1, discovery.Version1.as_view(), name="v1-root"),
    path(f"{_V1}/servers", discovery.Servers.as_view(), name="v1-servers"),
    path(_SERVER, discovery.Server.as_view(), name="v1-server"),
    path(f"{_SERVER}/config", config.Config.as_view(), name="v1-config"),
    path(f"{_SERVER}/statistics", statistics.Statistics.as_view(), name="v1-statistics"),
    path(f"{_SERVER}/search-data", search.SearchData.as_view(), name="v1-search-data"),
    path(f"{_SERVER}/cache/flush", cache.CacheFlush.as_view(), name="v1-cache-flush"),
    path(f"{_SERVER}/autoprimaries", autoprimaries.Autoprimaries.as_view(), name="v1-autoprimaries"),
    path(
        f"{_SERVER}/autoprimaries/<str:ip>/<str:nameserver>", autoprimaries.Autoprimary.as_view(), name="v1-autoprimary"
    ),
    path(f"{_SERVER}/tsigkeys", tsigkeys.TsigKeys.as_view(), name="v1-tsigkeys"),
    path(f"{_SERVER}/tsigkeys/<name:tsigkey_id>", tsigkeys.TsigKey.as_view(), name="v1-tsigkey"),
    path(f"{_ZONE}/metadata", metadata.MetadataList.as_view(), name="v1-metadata-list"),
    path(f"{_ZONE}/metadata/<str:metadata_kind>", metadata.Metadata.as_view(), name="v1-metadata"),
    path(f"{_ZONE}/cryptokeys", cryptokeys.Cryptokeys.as_view(), name="v1-cryptokeys"),
    path(f"{_ZONE}/cryptokeys/<str:cryptokey_id>", cryptokeys.Cryptokey.as_view(), name="v1-cryptokey"),
]
