"""Addresses of resources: the gateway's and the servers' own."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.uri_template import UriTemplate
from pydantic import AnyUrl

from toolwise.errors import GatewayError
from toolwise.serve.gateway.passing import own_uri, split_uri


@pytest.mark.parametrize("uri", ["file:///a b/ü.txt", "demo://x?q=1#f", "a/{b}", "100%25", "urn:a:%2F"])
def test_an_address_comes_back_as_it_was(uri: str):
    """Whatever stands in it."""
    assert split_uri(own_uri("s/1", uri)) == ("s/1", uri)


@pytest.mark.parametrize(
    "uri", ["file:///shelf", "demo://x?q=%C3%BC&r=a%20b#f", "http://user@x:8080/a%2Fb", "urn:isbn:0"]
)
def test_clients_that_parse_addresses_leave_them(uri: str):
    """Quoting, queries and two slashes within survive."""
    own = own_uri("s", uri)
    assert str(AnyUrl(own)) == own


@given(st.dictionaries(st.sampled_from("iqr"), st.text(max_size=5)))
def test_a_template_is_filled_in_as_it_would_be_at_the_server(values: dict[str, str]):
    """What a client puts in is quoted once, and reaches the server so."""
    theirs = "demo://x%20y/{i}{?q,r}"
    filled = UriTemplate.parse(own_uri("s", theirs)).expand(values)
    assert split_uri(filled) == ("s", UriTemplate.parse(theirs).expand(values))


@pytest.mark.parametrize("unseen", ["\n", "\x00", "\x7f", "\u200b", "\u202e", "\u2028", "\U000e0041"])
def test_what_nobody_sees_is_quoted(unseen: str):
    """Line ends, control characters and hidden ones do not reach a client; all others do as they are."""
    own = own_uri("s", f"demo://ü{unseen}x")
    assert own == f"toolwise://s/demo://ü{quote(unseen)}x"
    assert split_uri(own) == ("s", f"demo://ü{quote(unseen)}x")


def test_the_scheme_is_read_in_any_case():
    """As in all addresses."""
    assert split_uri("TOOLWISE://s/x") == ("s", "x")


@pytest.mark.parametrize(
    "before", ["s?q", "s#f", "s\n", "s\t", " s", "s\x00", "s\x85", "s\u00a0s", "s\u2028"]
)
def test_an_address_with_more_than_a_name_before_the_slash_is_refused(before: str):
    """None is read as that of the server whose name is left once the rest is gone."""
    with pytest.raises(GatewayError, match="there is no resource"):
        split_uri(f"toolwise://{before}/x")


@pytest.mark.parametrize(
    "uri", ["toolwise://[x/y", "http://s/x", "toolwise://s/", "toolwise:///x", "", "\ntoolwise://s/x"]
)
def test_an_address_of_nobody_is_refused(uri: str):
    """With an error of ours, also where it cannot even be parsed."""
    with pytest.raises(GatewayError, match="there is no resource"):
        split_uri(uri)
