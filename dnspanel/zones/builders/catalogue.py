"""All builders, keyed by their `key`, which URLs contain. Pure."""

from collections.abc import Mapping

from dnspanel.zones.builders.authorities import CaaBuilder
from dnspanel.zones.builders.builder_pieces import Builder
from dnspanel.zones.builders.dkim import DkimBuilder
from dnspanel.zones.builders.lua import LuaBuilder
from dnspanel.zones.builders.providers import PROVIDERS, NoMail
from dnspanel.zones.builders.reports import DmarcBuilder, StsBuilder, TlsReportBuilder
from dnspanel.zones.builders.spf import SpfBuilder

RECORDS: tuple[Builder, ...] = (
    SpfBuilder(),
    DkimBuilder(),
    DmarcBuilder(),
    StsBuilder(),
    TlsReportBuilder(),
    CaaBuilder(),
)
SNIPPETS: tuple[Builder, ...] = (*PROVIDERS, NoMail())
LUA = LuaBuilder()  # only for people who can publish LUA records
BUILDERS: Mapping[str, Builder] = {builder.key: builder for builder in (*RECORDS, LUA, *SNIPPETS)}
