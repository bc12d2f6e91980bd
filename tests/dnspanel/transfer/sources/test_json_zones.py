import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources.json_zones import JsonSource


def rrset(name: str, *contents: str, type: str = "A", **more: object) -> dict[str, object]:
    records = [{"content": content, "disabled": False} for content in contents]
    return {"name": name, "type": type, "ttl": 300, "records": records, "comments": [], **more}


def zone(name: str, key: str = "zone") -> dict[str, object]:
    return {key: name, "rrsets": [rrset(f"www.{name}", "192.0.2.1", "192.0.2.2")]}


def source(tmp_path: Path, text: str | bytes) -> JsonSource:
    path = tmp_path / "0001"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return JsonSource(path, name="x.json")


def read(tmp_path: Path, text: str | bytes) -> tuple[dict[str, Document], list[SourceFault]]:
    found = list(source(tmp_path, text).items())
    documents = {item.zone: item for item in found if isinstance(item, Document)}
    return documents, [item for item in found if isinstance(item, SourceFault)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", ["one", "lines", "list"])
@pytest.mark.parametrize("key", ["zone", "name"])
def test_zones_are_read_in_every_shape(tmp_path: Path, shape: str, indent: int | None, key: str) -> None:
    zones = [zone("a.test.", key)] if shape == "one" else [zone("a.test.", key), zone("B.test", key)]
    text = (
        json.dumps(zones, indent=indent)
        if shape == "list"
        else "\n".join(json.dumps(value, indent=indent) for value in zones) + "\n"
    )
    documents, faults = read(tmp_path, text)

    assert faults == []
    assert list(documents) == (["a.test."] if shape == "one" else ["a.test.", "b.test."])
    assert documents["a.test."].text == b"www.a.test. 300 IN A 192.0.2.1\nwww.a.test. 300 IN A 192.0.2.2\n"


def test_every_line_of_a_zone_leads_to_its_object(tmp_path: Path) -> None:
    documents, _ = read(tmp_path, f"\n{json.dumps(zone('a.test.'))}\n\n{json.dumps(zone('b.test.'), indent=1)}\n")

    assert documents["a.test."].lines is not None
    assert list(documents["a.test."].lines) == [2, 2]
    assert list(documents["b.test."].lines or ()) == [4, 4]


def test_disabled_records_and_comments_are_kept(tmp_path: Path) -> None:
    one = rrset(
        "a.test.", comments=[{"content": "first\nline"}, {"content": ""}, {"content": "second", "account": "x"}]
    )
    one["records"] = [{"content": "192.0.2.1", "disabled": True}, {"content": "192.0.2.2"}]
    documents, _ = read(tmp_path, json.dumps({"zone": "a.test", "rrsets": [one]}))

    assert documents["a.test."].text.decode().splitlines() == [
        ";!disabled a.test. 300 IN A 192.0.2.1 ; first line; second",
        "a.test. 300 IN A 192.0.2.2",
    ]


def test_rrsets_of_desec_are_brought_together(tmp_path: Path) -> None:
    def desec(domain: str, subname: str, type: str, *records: str) -> dict[str, object]:
        return {"domain": domain, "subname": subname, "type": type, "ttl": 3600, "records": list(records)}

    rrsets = [
        desec("a.test", "", "MX", "10 mail.a.test."),
        desec("b.test", "www", "A", "192.0.2.1"),
        desec("a.test", "*.x", "TXT", '"v=1; y"'),
    ]
    documents, faults = read(tmp_path, json.dumps(rrsets, indent=1))

    assert faults == []
    assert documents["a.test."].text == b'a.test. 3600 IN MX 10 mail.a.test.\n*.x.a.test. 3600 IN TXT "v=1; y"\n'
    assert documents["b.test."].text == b"www.b.test. 3600 IN A 192.0.2.1\n"


def test_a_line_that_is_not_json_costs_only_itself(tmp_path: Path) -> None:
    lines = [json.dumps(zone(f"{name}.test.")) for name in "abc"]
    lines[1] = lines[1].replace("300", "3OO")
    documents, (fault,) = read(tmp_path, "\n".join(lines))

    assert list(documents) == ["a.test.", "c.test."]
    assert (fault.path, fault.line, fault.column) == ("x.json", 2, lines[1].index("3OO") + 2)
    assert "3OO" in fault.source
    assert "not valid JSON" in fault.reason


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"zone": "a.test",\n "rrsets": [}', 2, 13),
        ('{"zone": "a.test"', 1, 18),
        ('{"zone": "a.te', 1, 10),
        ("[1, 2", 1, 1),
        ("hello", 1, 1),
    ],
)
def test_where_a_text_is_not_json_is_reported(tmp_path: Path, text: str, line: int, column: int) -> None:
    _, faults = read(tmp_path, text)

    assert (faults[-1].line, faults[-1].column, faults[-1].code) == (line, column, "json-syntax")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (1, "not an object"),
        ({"zone": "a.test"}, "must have an “rrsets” list"),
        ({"rrsets": []}, "must have “zone” or “name”"),
        ({"zone": "a..test", "rrsets": []}, "empty label"),
        ({"domain": "a.test", "type": "A"}, "“records” is missing"),
    ],
)
def test_objects_that_are_no_zones_are_faults(tmp_path: Path, value: object, reason: str) -> None:
    documents, (fault,) = read(tmp_path, json.dumps(zone("b.test.")) + "\n" + json.dumps(value) + "\n")

    assert list(documents) == ["b.test."]
    assert fault.line == 2
    assert reason in fault.reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (rrset("www.a.test.", "192.0.2.1\nx 300 IN A 192.0.2.9"), "line break"),
        (rrset("www a.test.", "192.0.2.1"), "space"),
        (rrset("www.a.test.", "192.0.2.1", type="A\n"), "isn’t a valid record type"),
        (rrset("www.a.test.", "192.0.2.1", ttl="x y"), "isn’t a valid TTL"),
        ({"name": "www.a.test.", "type": "A", "ttl": 1, "records": [1]}, "must be a string or an object"),
        ("www", "must be an object"),
    ],
)
def test_bad_rrsets_are_faults_and_the_others_stay(tmp_path: Path, bad: object, reason: str) -> None:
    value = {"zone": "a.test.", "rrsets": [bad, rrset("good.a.test.", "192.0.2.1")]}
    documents, (fault,) = read(tmp_path, json.dumps(value))

    assert documents["a.test."].text == b"good.a.test. 300 IN A 192.0.2.1\n"
    assert reason in fault.reason
    assert fault.zone == "a.test."


def test_half_characters_reach_the_parser_as_wrong_bytes(tmp_path: Path) -> None:
    documents, _ = read(tmp_path, json.dumps({"zone": "a.test.", "rrsets": [rrset("a.test.", '"\ud800"', type="TXT")]}))

    with pytest.raises(UnicodeDecodeError):
        documents["a.test."].text.decode()


def test_large_texts_are_read_piece_by_piece(tmp_path: Path) -> None:
    zones = [{"zone": f"z{number}.test.", "rrsets": [rrset("x", "192.0.2.1" * 50)] * 20} for number in range(600)]
    text = json.dumps(zones).encode()
    assert len(text) > 5 << 20
    path = tmp_path / "0001"
    path.write_bytes(gzip.compress(text, 1))
    opened = JsonSource(path)
    seen = []
    for item in opened.items():
        assert isinstance(item, Document)
        seen.append((item.zone, opened.done))

    assert [name for name, _ in seen] == [f"z{number}.test." for number in range(600)]
    assert seen[0][1] <= opened.total == seen[-1][1]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text('[]{},:"\\ \nzone rrsets1tn', max_size=60))
def test_no_text_breaks_the_reader(tmp_path: Path, text: str) -> None:
    for item in source(tmp_path, text).items():
        if isinstance(item, SourceFault):
            assert item.line >= 1
            assert item.column >= 1


def test_what_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="nested too deeply"):
        read(tmp_path, "[" + "[" * 200_000)


def test_skipping_leaves_out_the_beginning(tmp_path: Path) -> None:
    text = "\n".join(json.dumps(zone(f"{name}.test.")) for name in "abcde") + "\nbad\n"
    every = list(source(tmp_path, text).items())

    assert len(every) == 6
    for skip in range(7):
        assert list(source(tmp_path, text).items(skip=skip)) == every[skip:]
