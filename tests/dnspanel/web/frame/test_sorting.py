"""Table headers that sort."""

from django.http import QueryDict

from dnspanel.web.frame.sorting import Column, heads

COLUMNS = (Column("name", "Name"), Column("size", "Size", "num", falls=True))


def test_a_head_leads_to_its_order_and_the_present_one_to_its_reverse() -> None:
    def queries(sort: str, parameters: str = "") -> tuple[list[str], list[str]]:
        found = heads(COLUMNS, sort, QueryDict(parameters)).values()
        return [head.query for head in found], [head.sorted for head in found]

    assert queries("") == (["sort=-name", "sort=-size"], ["ascending", ""])
    assert queries("-name") == (["", "sort=-size"], ["descending", ""])
    assert queries("-size") == (["", "sort=size"], ["", "descending"])
    assert queries("size") == (["", "sort=-size"], ["", "ascending"])


def test_the_search_stays_and_the_page_begins_anew() -> None:
    found = heads(COLUMNS, "", QueryDict("q=tag%3Ashop&after=x&at=y&sort=size"))
    assert found["size"].query == "q=tag%3Ashop&sort=-size"
    assert (found["name"].arrow_class, found["size"].orders[1]) == ("icon-s is-up", ("descending", "-size"))
