"""The calls that both APIs get in the same order, because later calls depend on earlier ones."""

from collections.abc import Iterator
from typing import Any

from dnspanel.api.v1.kept_metadata import REFUSED, WRITABLE
from tests.oracle.api_contents import BAD, GOOD, SPELLED_OTHERWISE
from tests.oracle.api_server import Call

ZONES = "/zones"
SECRET, OTHER_SECRET = "c2l4dGVlbiBieXRlcyBub3c=", "YW5vdGhlciBzaXh0ZWVuIGJ5dGVz"
ACCEPTS = ("application/json", "text/html", "text/plain", "*/*", "", "text/html, application/json;q=0.5")


def rrset(name: str, type: str, *contents: Any, changetype: str = "REPLACE", ttl: Any = 300, **more: Any) -> Any:
    """Return an RRset for the body of a PATCH."""
    records = [{"content": content, "disabled": False} for content in contents]
    return {"name": name, "type": type, "changetype": changetype, "ttl": ttl, "records": records, **more}


def new(name: str, **more: Any) -> Any:
    """Return the body that creates a zone."""
    return {"name": name, "kind": "Native", "nameservers": ["ns1.x.test.", "ns2.x.test."], **more}


def patch(zone: str, *rrsets: Any) -> Call:
    return Call("PATCH", f"{ZONES}/{zone}", {"rrsets": list(rrsets)})


def corpus() -> Iterator[Call]:
    """Yield all calls in their order."""
    for part in (
        discovery,
        creation,
        bad_creation,
        contents,
        changes,
        comments,
        ids,
        put,
        calls,
        metadata,
        keys,
        tsig,
        search,
        frame,
        deletion,
        otherwise,
    ):
        yield from part()


def discovery() -> Iterator[Call]:
    for path in ("/api", "/api/v1", "/api/v1/servers", "", "/autoprimaries", ZONES, "/tsigkeys"):
        yield Call("GET", path, differs="each says its version" if path in {"", "/api/v1/servers"} else "")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            if not (method == "POST" and path in {"/autoprimaries", ZONES, "/tsigkeys"}):
                yield Call(method, path, {})
    for path in ("/nope", "/config/nope", "/zones/", "/", "/api/v1/servers/other", "/api/v1/servers/other/zones"):
        yield Call("GET", path)


def creation() -> Iterator[Call]:
    yield Call("POST", ZONES, new("plain.test."))
    yield Call("POST", ZONES, new("plain.test."))
    yield Call("POST", ZONES, new("PLAIN.test."))
    yield Call("GET", f"{ZONES}?zone=plain.test.")
    yield Call("GET", f"{ZONES}?zone=plain.test.&dnssec=false")
    yield Call("GET", f"{ZONES}?zone=absent.test.")
    yield Call("GET", f"{ZONES}?zone=plain.test")
    yield Call("POST", f"{ZONES}?rrsets=false", new("short.test.", account="dept-7", kind="Master"))
    yield Call(
        "POST", ZONES, new("fields.test.", id="x", url="/x", type="Zone", serial=7, masters=[], unknown={"a": 1})
    )
    yield Call("POST", ZONES, new("nulls.test.", account=None, masters=None, catalog=None, dnssec=None, zone=None))
    yield Call("POST", ZONES, new("edits.test.", soa_edit="EPOCH", soa_edit_api="INCREASE", api_rectify=True))
    yield Call("POST", ZONES, new("upper.TEST.", kind="NATIVE"))
    own = [rrset("own.test.", "SOA", "ns7.x.test. admin.x.test. 5 1 2 3 4"), rrset("www.own.test.", "A", "192.0.2.1")]
    yield Call("POST", ZONES, new("own.test.", rrsets=own))
    yield Call("POST", ZONES, new("ns.test.", nameservers=[], rrsets=[rrset("ns.test.", "NS", "ns5.x.test.")]))
    yield Call("POST", ZONES, new("a_b.c-d.test."))
    yield Call("POST", ZONES, new("2/1.0.2.192.in-addr.arpa."))
    for zone in (
        "plain.test.",
        "short.test",
        "fields.test.",
        "own.test.",
        "a=5Fb.c-d.test.",
        "2=2F1.0.2.192.in-addr.arpa.",
    ):
        yield Call("GET", f"{ZONES}/{zone}")
        yield Call("GET", f"{ZONES}/{zone}?rrsets=false")
    yield Call("GET", f"{ZONES}/own.test.?rrset_name=www.own.test.")
    yield Call("GET", f"{ZONES}/own.test.?rrset_name=www.own.test.&rrset_type=A")
    yield Call("GET", f"{ZONES}/own.test.?rrset_name=www.own.test.&rrset_type=AAAA")
    yield Call("GET", f"{ZONES}/own.test.?rrset_name=nope.own.test.")


def bad_creation() -> Iterator[Call]:
    for body in (
        {},
        [],
        "x",
        1,
        {"name": "b.test."},
        {"kind": "Native"},
        new("b.test"),
        new(""),
        new("b..test."),
        new("b$.test."),
        new("b.test.", nameservers=["ns1.x.test"]),
        new("b.test.", nameservers=[1]),
        new("b.test.", nameservers=[""]),
        new("b.test.", rrsets=[rrset("www.other.test.", "A", "192.0.2.1")]),
        new("b.test.", rrsets=[rrset("www.b.test.", "A", "bad")]),
        new("b.test.", rrsets=[rrset("www.b.test", "A", "192.0.2.1")]),
        new("b.test.", rrsets=[rrset("www.b.test.", "BOGUS", "x")]),
        new("b.test.", rrsets=[{"name": "www.b.test."}]),
        new("b.test.", rrsets=[rrset("b.test.", "NS", "ns5.x.test.")]),
        new("b.test.", rrsets=[rrset("c.b.test.", "CNAME", "a.test."), rrset("c.b.test.", "A", "192.0.2.1")]),
        new("b.test.", rrsets=[rrset("c.b.test.", "CNAME", "a.test.", "b.test.")]),
        new("b.test.", rrsets=[rrset("d.b.test.", "A", "192.0.2.1", "192.0.2.1")]),
        new("b.test.", rrsets=[], zone="b.test. 1 IN A 192.0.2.1"),
        new("b.test.", masters=["nonsense"]),
        new("b.test.", masters=[1]),
        new("x" * 64 + ".test."),
        new("b.test.", kind=1),
    ):
        yield Call("POST", ZONES, body)
        yield Call("GET", f"{ZONES}?zone=b.test.")
    for text in (b"", b"{", b"[", b"nope", b'{"name": }', b"\xff\xfe"):
        yield Call("POST", ZONES, text)


def contents() -> Iterator[Call]:
    """Yield calls that write, read, rewrite and delete records of each type."""
    yield Call("POST", ZONES, new("t.test."))
    for type_, texts in GOOD.items():
        for number, text in enumerate(texts):
            name = f"{type_.lower()}{number}.t.test."
            yield patch("t.test.", rrset(name, type_, text))
            # LMDB stores no text. PowerDNS's SQL backends return the received text, like the panel.
            differs = "theirs gives back another text than it got" if text in SPELLED_OTHERWISE else ""
            yield Call("GET", f"{ZONES}/t.test.?rrset_name={name}&rrset_type={type_}", differs=differs)
        if type_ not in {"CNAME", "DNAME"}:
            yield patch("t.test.", rrset(f"{type_.lower()}.t.test.", type_, *texts))
        yield patch("t.test.", rrset(f"{type_.lower()}0.t.test.", type_, changetype="DELETE"))
        yield Call("GET", f"{ZONES}/t.test.?rrset_name={type_.lower()}0.t.test.")
    for type_, texts in BAD.items():
        for text in texts:
            yield patch("t.test.", rrset("bad.t.test.", type_, text))
    yield Call("GET", f"{ZONES}/t.test.", differs="theirs gives back other texts than it got")


def changes() -> Iterator[Call]:
    www = "www.p.test."
    yield Call("POST", ZONES, new("p.test."))
    good = rrset(www, "A", "192.0.2.1")
    for rrsets in (
        [good],
        [rrset(www, "A", "192.0.2.1", "192.0.2.2", ttl=60)],
        [rrset(www.upper(), "a", "192.0.2.3")],
        [rrset(www, "A", "192.0.2.4", changetype="replace")],
        [rrset(www, "A", ttl=300)],
        [good, rrset(www, "TXT", '"x"')],
        [rrset(www, "A", changetype="delete")],
        [rrset(www, "A", changetype="DELETE")],
        [{"name": www, "type": "A", "changetype": "DELETE", "records": None}],
        [{"name": www, "type": "A", "changetype": "DELETE"}],
        [rrset(www, "A", "192.0.2.1", "192.0.2.1")],
        [good, good],
        [rrset(www, "A", "192.0.2.1", ttl="300")],
        [rrset(www, "A", "192.0.2.1", ttl=0)],
        [rrset(www, "A", "192.0.2.1", changetype="NOPE")],
        [{"name": www, "type": "A"}],
        [{}],
        [1],
        [None],
        [],
        [rrset("www.other.test.", "A", "192.0.2.1")],
        [rrset("www.other.test.", "A", changetype="DELETE")],
        [rrset("xp.test.", "A", "192.0.2.1")],
        [rrset("www.p.test", "A", "192.0.2.1")],
        [rrset("", "A", "192.0.2.1")],
        [rrset("a..p.test.", "A", "192.0.2.1")],
        [rrset("ü.p.test.", "A", "192.0.2.1")],
        [rrset("a b.p.test.", "A", "192.0.2.1")],
        [rrset("*.p.test.", "A", "192.0.2.1")],
        [rrset("_x._tcp.p.test.", "SRV", "1 2 3 a.test.")],
        [rrset(www, "CNAME", "a.test.")],
        [good, rrset(www, "CNAME", "a.test.")],
        [rrset(www, "TXT", changetype="DELETE"), rrset(www, "A", changetype="DELETE"), rrset(www, "CNAME", "a.test.")],
        [good],
        [rrset(www, "CNAME", "a.test.", "b.test.")],
        [rrset(www, "CNAME", changetype="DELETE"), good],
        [rrset("p.test.", "CNAME", "a.test.")],
        [rrset("n.p.test.", "SOA", "a. b. 1 2 3 4 5")],
        [rrset("p.test.", "SOA", "ns1.x.test. admin.x.test. 9 1 2 3 4")],
        [rrset("p.test.", "NS", "ns3.x.test.")],
        [rrset("p.test.", "MX", "10 mail.p.test.")],
        [rrset(www, "A", "192.0.2.5"), rrset("bad.p.test.", "A", "bad")],
        [{**good, "records": [{"content": 1}]}],
        [{**good, "records": [{}]}],
        [{**good, "records": {}}],
        [{**good, "records": "x"}],
        [{**good, "records": [1]}],
        [{**good, "records": [{"content": "192.0.2.9", "disabled": True}]}],
        [{**good, "records": [{"content": "192.0.2.9", "disabled": "x"}]}],
        [{**good, "records": [{"content": "192.0.2.9", "name": www, "type": "A", "ttl": 1, "set-ptr": False}]}],
        [{"name": www, "type": "A", "changetype": "REPLACE", "ttl": 300}],
        [{"name": www, "type": "A", "changetype": "REPLACE", "records": [{"content": "192.0.2.9"}]}],
        [rrset("d.p.test.", "DNAME", "other.test.")],
        [rrset("p.test.", "DS", "1 13 2 " + "ab" * 32)],
        [rrset("k.p.test.", "DNSKEY", "257 3 13 " + "A" * 86 + "==")],
        [rrset("k.p.test.", "CDNSKEY", "257 3 13 " + "A" * 86 + "==")],
        [rrset("u.p.test.", "TYPE65300", "\\# 2 abcd")],
    ):
        yield patch("p.test.", *rrsets)
        yield Call("GET", f"{ZONES}/p.test.")
    for body in ({}, [], {"rrsets": None}, {"rrsets": {}}, {"rrsets": "x"}, 1, "x", True):
        yield Call("PATCH", f"{ZONES}/p.test.", body)
    for text in (b"", b"{", b"\xff", b'{"rrsets": [}'):
        yield Call("PATCH", f"{ZONES}/p.test.", text)
    yield patch("absent.test.", good)


def comments() -> Iterator[Call]:
    yield Call("POST", ZONES, new("c.test."))
    answer = {"content": "why", "account": "bob", "modified_at": 1600000000}
    for more in (
        {"comments": [answer]},
        {},
        {"comments": []},
        {"comments": [answer, {**answer, "content": "because"}]},
        {"comments": [{"account": "x"}]},
        {"comments": [1]},
        {"comments": "x"},
    ):
        yield patch("c.test.", rrset("www.c.test.", "A", "192.0.2.1", **more))
        yield Call("GET", f"{ZONES}/c.test.?rrset_name=www.c.test.")
    only = {"name": "www.c.test.", "type": "A", "changetype": "REPLACE", "comments": [answer]}
    yield patch("c.test.", only)
    yield Call("GET", f"{ZONES}/c.test.?rrset_name=www.c.test.")
    yield patch("c.test.", {**only, "comments": []})
    yield Call("GET", f"{ZONES}/c.test.?rrset_name=www.c.test.")


_OF_RAW_SLASHES = "before a further part of the path theirs takes %2F alone"


def ids() -> Iterator[Call]:
    """Yield all kinds of calls with zone ids in the forms in which they occur in URLs."""
    for id in (
        "absent.test.",
        "absent.test",
        "absent..test",
        "plain.test",
        "PLAIN.TEST.",
        "plain=2Etest.",
        "=2E",
        "=ZZ",
        "=2",
        "=",
        "a=2fb.",
        "x" * 64 + ".test.",
        "%C3%BC.test.",
        "a%2Fb",
    ):
        for path in ("", "/metadata", "/export", "/cryptokeys"):
            yield Call("GET", f"{ZONES}/{id}{path}")
        yield Call("PUT", f"{ZONES}/{id}/rectify")
    yield Call("POST", ZONES, new("0/25.2.0.192.in-addr.arpa."))
    for slash in ("%2F", "/", "=2F"):
        url = f"{ZONES}/0{slash}25.2.0.192.in-addr.arpa."
        yield Call("GET", url)
        yield Call("PATCH", url, {"rrsets": [rrset("1.0/25.2.0.192.in-addr.arpa.", "PTR", f"h.{len(slash)}.test.")]})
        yield Call("PUT", url, {"account": "classless"})
        for path in ("/metadata", "/metadata/X-A", "/export", "/cryptokeys"):
            yield Call("GET", url + path, differs=_OF_RAW_SLASHES if slash == "/" else "")
        yield Call("PUT", f"{url}/rectify", differs=_OF_RAW_SLASHES if slash == "/" else "")
        yield Call("DELETE", url)
        yield Call("GET", url)
        yield Call("POST", ZONES, new("0/25.2.0.192.in-addr.arpa."))
    yield Call("DELETE", f"{ZONES}/0%2F25.2.0.192.in-addr.arpa.")
    for id in ("absent.test.", "=ZZ", "a..b"):
        yield Call("DELETE", f"{ZONES}/{id}")
        yield Call("PUT", f"{ZONES}/{id}", {"kind": "Native"})
        yield Call("PATCH", f"{ZONES}/{id}", {"rrsets": []})


def put() -> Iterator[Call]:
    for body in (
        {"kind": "Master"},
        {"account": "dept-8"},
        {"soa_edit_api": "EPOCH"},
        {"soa_edit": "INCEPTION-INCREMENT"},
        {"api_rectify": True},
        {"api_rectify": False},
        {"masters": ["192.0.2.53"]},
        {"masters": []},
        {"kind": "Native", "account": "", "dnssec": False, "unknown": 1},
        {},
        {"masters": ["x"]},
        {"catalog": ""},
    ):
        yield Call("PUT", f"{ZONES}/plain.test.", body)
        yield Call("GET", f"{ZONES}/plain.test.?rrsets=false")
    for text in (b"", b"{"):
        yield Call("PUT", f"{ZONES}/plain.test.", text)


def calls() -> Iterator[Call]:
    for accept in ("application/json", "text/plain", ""):
        yield Call("GET", f"{ZONES}/own.test./export", accept=accept)
    yield Call("PUT", f"{ZONES}/own.test./rectify")
    yield Call("PUT", f"{ZONES}/own.test./axfr-retrieve")
    for call in ("notify", "rectify", "axfr-retrieve"):
        for method in ("GET", "POST", "DELETE"):
            yield Call(method, f"{ZONES}/own.test./{call}")
        yield Call("PUT", f"{ZONES}/absent.test./{call}")
    for method in ("POST", "PUT", "DELETE"):
        yield Call(method, f"{ZONES}/own.test./export")
    for domain in ("", "?domain=absent.test.", "?domain=own.test", "?domain=a..b."):
        yield Call("PUT", f"/cache/flush{domain}")
    yield Call("GET", "/cache/flush")
    yield Call("GET", "/statistics?statistic=nope")
    for body in ({}, {"ip": "192.0.2.1"}, {"ip": "", "nameserver": ""}, {"ip": 1, "nameserver": 2}):
        yield Call("POST", "/autoprimaries", body)
    yield Call("DELETE", "/autoprimaries/192.0.2.9/ns1.x.test")
    yield Call("GET", "/autoprimaries/192.0.2.9/ns1.x.test")


# Values for metadata kinds of which the panel accepts only supported values.
_VALUES = {
    "SOA-EDIT": ["NONE", "EPOCH", "none", "Epoch"],
    "ALLOW-AXFR-FROM": ["9.9.9.0/24", "2620:fe::/48", "9.9.9.9", "0.0.0.0/0"],
    "ALSO-NOTIFY": ["9.9.9.9", "[2620:fe::fe]:5300", "9.9.9.9:5300", "9.9.9.10"],
    **dict.fromkeys(("IXFR", "NOTIFY-DNSUPDATE", "SLAVE-RENOTIFY"), ["1"] * 4),
}


def metadata() -> Iterator[Call]:
    url = f"{ZONES}/own.test./metadata"
    kinds = (
        "ALLOW-AXFR-FROM",
        "AXFR-SOURCE",
        "ALLOW-DNSUPDATE-FROM",
        "TSIG-ALLOW-DNSUPDATE",
        "FORWARD-DNSUPDATE",
        "ALSO-NOTIFY",
        "SOA-EDIT-DNSUPDATE",
        "NOTIFY-DNSUPDATE",
        "AXFR-MASTER-TSIG",
        "GSS-ALLOW-AXFR-PRINCIPAL",
        "GSS-ACCEPTOR-PRINCIPAL",
        "IXFR",
        "LUA-AXFR-SCRIPT",
        "NSEC3NARROW",
        "NSEC3PARAM",
        "PRESIGNED",
        "PUBLISH-CDNSKEY",
        "PUBLISH-CDS",
        "SLAVE-RENOTIFY",
        "SOA-EDIT",
        "TSIG-ALLOW-AXFR",
        "SOA-EDIT-API",
        "API-RECTIFY",
        "X-Own",
        "x-own",
        "NOPE",
        "also-notify",
    )
    yield Call("GET", url)
    for kind in kinds:
        yield Call("GET", f"{url}/{kind}")
        refused = "a limit that nothing here keeps is refused" if kind in REFUSED else ""
        values = _VALUES.get(kind, ["1", "2", "3", "4"])
        yield Call("POST", url, {"kind": kind, "metadata": [values[0], values[1], values[0]]}, differs=refused)
        yield Call("POST", url, {"kind": kind, "metadata": [values[2], values[1]]}, differs=refused)
        yield Call("GET", f"{url}/{kind}", differs=refused)
        yield Call("PUT", f"{url}/{kind}", {"metadata": [values[3]], "kind": "ignored"}, differs=refused)
        yield Call("GET", url, differs=refused)
        yield Call("PATCH", f"{url}/{kind}")
        deleted = kind in WRITABLE or kind.startswith("X-")
        yield Call("DELETE", f"{url}/{kind}", differs="204 from 4.9 on, 200 before" if deleted else "")
        yield Call("GET", f"{url}/{kind}")
    for body in (
        {},
        [],
        {"kind": 1},
        {"kind": "X-A"},
        {"kind": "X-A", "metadata": "x"},
        {"kind": "X-A", "metadata": [1]},
        b"",
        b"{",
    ):
        yield Call("POST", url, body)
        yield Call("PUT", f"{url}/X-A", body)
    yield Call("DELETE", url)


def keys() -> Iterator[Call]:
    url = f"{ZONES}/own.test./cryptokeys"
    yield Call("GET", url)
    for body in (
        {},
        {"keytype": "x"},
        {"keytype": 1},
        {"keytype": "ksk", "bits": -1},
        {"keytype": "ksk", "bits": "x"},
        {"keytype": "zsk", "algorithm": "nope"},
        {"keytype": "zsk", "content": "x", "bits": 1},
        {"keytype": "zsk", "privatekey": "x", "algorithm": "rsasha256"},
        b"",
        b"[",
    ):
        yield Call("POST", url, body)
    for method in ("GET", "PUT", "DELETE"):
        yield Call(method, f"{url}/7", {"active": True})
    yield Call("PATCH", url)


def tsig() -> Iterator[Call]:
    url = "/tsigkeys"
    for body in (
        {"name": "k1", "algorithm": "hmac-sha256", "key": SECRET},
        {"name": "k1.", "algorithm": "hmac-md5", "key": SECRET},
        {"name": "k_2/x", "algorithm": "hmac-md5", "key": OTHER_SECRET},
        {"name": "k3", "algorithm": "hmac-sha512.", "key": SECRET},
        {"name": "k4", "algorithm": "nope"},
        {"name": "k4", "algorithm": "nope", "key": SECRET},
        {"name": "k4", "algorithm": "hmac-md5", "key": "%%"},
        {"name": "k4"},
        {"algorithm": "hmac-md5"},
        {},
        [],
        b"",
        b"{",
    ):
        yield Call("POST", url, body)
    yield Call("POST", url, {"name": "k4", "algorithm": "nope"}, accept="text/plain")
    for id in ("k1", "k1.", "k=5F2=2Fx.", "absent", "=ZZ"):
        yield Call("GET", f"{url}/{id}")
    for body in ({}, None, {"algorithm": "nope"}, {"key": OTHER_SECRET}, {"key": "=="}, {"name": "k9"}, b"{"):
        yield Call("PUT", f"{url}/k1", body)
        yield Call("GET", f"{url}/k1")
    yield Call("GET", url)
    zone = f"{ZONES}/own.test."
    for ids in (["k9."], ["k9", "k3."], ["absent."], [], "k9."):
        yield Call("PUT", zone, {"master_tsig_key_ids": ids})
        yield Call("GET", f"{zone}?rrsets=false")
        yield Call("GET", f"{zone}/metadata/TSIG-ALLOW-AXFR")
    for id in ("k9", "k9", "k=5F2=2Fx.", "k3", "absent"):
        yield Call("DELETE", f"{url}/{id}")
    yield Call("PATCH", url)


def search() -> Iterator[Call]:
    yield Call(
        "POST",
        ZONES,
        new(
            "find.test.",
            rrsets=[
                rrset(
                    "www.find.test.",
                    "A",
                    "203.0.113.7",
                    "203.0.113.8",
                    comments=[{"content": "findme", "account": "", "modified_at": 1}],
                ),
                rrset("mail.find.test.", "CNAME", "www.find.test."),
                rrset("txt.find.test.", "TXT", '"50%_found"'),
            ],
        ),
    )
    for q in (
        "find.test",
        "FIND.TEST",
        "*find.test",
        "www.find.test",
        "ww?.find.test",
        "*.find.test",
        "203.0.113.7",
        "203.0.113.*",
        "findme",
        "find*",
        "*50%25_found*",
        "*50_found*",
        "nothing-like-it",
        "f*d.test",
    ):
        for kind in ("", "&object_type=all", "&object_type=zone", "&object_type=record", "&object_type=comment"):
            yield Call("GET", f"/search-data?q={q}&max=500{kind}")
    for query in (
        "",
        "?q=",
        "?q=find.test&max=0",
        "?q=find.test&max=-1",
        "?q=find.test&object_type=nope",
        "?q=find.test&max=1",
    ):
        yield Call("GET", f"/search-data{query}")
    yield Call("POST", "/search-data?q=x")


def frame() -> Iterator[Call]:
    """Yield calls for behavior that all calls share: API keys, and errors in the accepted format."""
    for accept in ACCEPTS:
        for key in ("", "wrong"):
            for path in ("/api", "/api/v1", "/api/docs", "", ZONES, f"{ZONES}/own.test."):
                yield Call("GET", path, accept=accept, key=key)
        yield Call("GET", f"{ZONES}/absent.test.", accept=accept)
        yield Call("GET", "/nope", accept=accept)
        yield Call("DELETE", "/tsigkeys", accept=accept)
        yield Call("POST", ZONES, new("own.test."), accept=accept)
        yield Call("POST", ZONES, b"{", accept=accept)
        yield Call("POST", ZONES, {}, accept=accept)
        yield Call("GET", f"{ZONES}/own.test.", accept=accept)
    for key in ("", "wrong", "right"):  # as a browser's preflight request before a cross-origin call
        for path in ("/api", "", ZONES, f"{ZONES}/own.test.", "/tsigkeys"):
            yield Call("OPTIONS", path, key=key)


def deletion() -> Iterator[Call]:
    for zone in (
        "plain.test.",
        "short.test",
        "PLAIN.test.",
        "a=5Fb.c-d.test.",
        "2=2F1.0.2.192.in-addr.arpa",
        "absent.test.",
    ):
        yield Call("DELETE", f"{ZONES}/{zone}")
        yield Call("GET", f"{ZONES}/{zone}")
    # Terraform's destroy and Ansible's `state: absent` on a few zones, by a token without additional rights.
    dozen = [f"destroyed{number}.test." for number in range(12)]
    for zone in dozen:
        yield Call("POST", f"{ZONES}?rrsets=false", new(zone))
    for zone in dozen:
        yield Call("DELETE", f"{ZONES}/{zone}")
    for zone in dozen:
        yield Call("GET", f"{ZONES}/{zone}")
    yield Call("POST", ZONES, new("plain.test."))
    yield Call("GET", ZONES)


_WEEKS = "weeks are added to a serial that is not the one served; here both are one"


def otherwise() -> Iterator[Call]:
    """Yield calls whose answers differ between the servers, with the reasons. All other calls have equal answers."""
    yield Call("POST", ZONES, new("d.test."))

    def differing(differs: str, *rrsets: Any) -> Call:
        return Call("PATCH", f"{ZONES}/d.test.", {"rrsets": list(rrsets)}, differs=differs)

    www = rrset("www.d.test.", "A", "192.0.2.1")
    yield differing("4.7 does not know these yet", {**www, "changetype": "EXTEND"})
    yield differing("4.7 does not know these yet", {**www, "changetype": "PRUNE"})
    yield differing(
        "4.7 does not parse addresses that end in an IPv4 one", rrset("m.d.test.", "AAAA", "::ffff:192.0.2.1")
    )
    yield differing("a deletion needs no TTL", rrset("gone.d.test.", "A", ttl=None))
    yield differing("ANY is no type of records", rrset("any.d.test.", "ANY", changetype="DELETE"))
    yield differing("PowerDNS uses this type within itself", rrset("u.d.test.", "TYPE65400", "\\# 2 abcd"))
    key = rrset("d.test.", "DNSKEY", "257 3 13 " + "A" * 86 + "==")
    yield differing("keys of other signers stand beside the panel's alone", key)
    yield differing("a comment may be nobody's", {**www, "comments": [{"content": "x"}]})
    bad = [{"content": "x", "account": "", "modified_at": "x"}]
    yield differing("theirs breaks (500)", {**www, "comments": bad})
    yield Call("POST", ZONES, {"name": "e.test.", "kind": "Native"}, differs="ours has the panel's name servers")
    yield Call("POST", ZONES, {"name": "e2.test.", "kind": "Slave"}, differs="ours says from where it comes")
    yield Call("POST", ZONES, new("e3.test.", dnssec=True))
    yield Call("GET", f"{ZONES}/%20.test.", differs="no zone can have a name with a space")
    yield Call("PUT", f"{ZONES}/d.test./notify", differs="nothing is sent, and ours says so")
    lost = "theirs loses its SOA, ours keeps it"
    yield Call("POST", ZONES, new("l.test."))
    for deletion in (rrset("l.test.", "SOA", changetype="DELETE"), rrset("l.test.", "SOA")):
        yield patch("l.test.", deletion)
        yield Call("GET", f"{ZONES}/l.test.", differs=lost)
        yield patch("l.test.", deletion, rrset("www.l.test.", "A", "192.0.2.1"))
    yield Call("GET", f"{ZONES}/l.test.", differs=lost)
    yield Call("POST", ZONES, new("w.test.", soa_edit_api="NOPE"), differs="no serial moves by an unknown word")
    yield Call("POST", ZONES, new("w2.test.", soa_edit="INCREMENT-WEEKS"), differs=_WEEKS)
    yield Call("PUT", f"{ZONES}/d.test.", {"rrsets": []}, differs="4.7 ignores the RRsets")
    yield Call("GET", "/search-data?q=a&max=many", differs="theirs breaks (500)")
    yield Call("GET", f"{ZONES}/d.test./cryptokeys/x", differs="theirs breaks (500)")
    yield Call("DELETE", f"{ZONES}/d.test./cryptokeys", differs="405 from 5.0 on")
    yield Call("POST", f"{ZONES}/d.test./cryptokeys", {"keytype": "ksk"}, differs="each makes its own key")
    yield Call("POST", "/tsigkeys", {"name": "a..b", "algorithm": "hmac-md5"}, differs="theirs breaks (500)")
    yield Call("POST", "/tsigkeys", {"name": "", "algorithm": "hmac-md5"}, differs="the root is no name for a key")
    yield Call(
        "POST",
        "/tsigkeys",
        {"name": "K.test", "algorithm": "hmac-md5", "key": SECRET},
        differs="names are in lower case",
    )
    yield Call("PUT", "/tsigkeys/k.test", {"algorithm": "hmac-sha512"})
    yield Call("GET", "/tsigkeys/k.test", differs="theirs keeps the old key too, and shows that one")
    yield Call("POST", "/autoprimaries", {"ip": "192.0.2.1", "nameserver": "ns1.x.test"}, differs="there are none here")
