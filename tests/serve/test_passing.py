"""Addresses of resources: the gateway's and the servers' own."""

import pytest

from toolwise.errors import GatewayError
from toolwise.serve.gateway.passing import own_uri, split_uri


@pytest.mark.parametrize("uri", ["file:///a b/ü.txt", "demo://x?q=1#f", "a/{b}", "100%25"])
def test_an_address_comes_back_as_it_was(uri: str):
    """Whatever stands in it, but for what a template leaves to fill in."""
    assert split_uri(own_uri("s/1", uri)) == ("s/1", uri)


def test_what_a_template_leaves_to_fill_in_stays_as_it_is():
    """Operators of variables are the client's to read; the text around them is quoted."""
    assert own_uri("s", "demo://x/{id}{?q,r}{/more*}") == "toolwise://s/demo%3A%2F%2Fx%2F{id}{?q,r}{/more*}"


@pytest.mark.parametrize("uri", ["toolwise://[x/y", "http://s/x", "toolwise://s/", "toolwise:///x", ""])
def test_an_address_of_nobody_is_refused(uri: str):
    """With an error of ours, also where it cannot even be parsed."""
    with pytest.raises(GatewayError, match="there is no resource"):
        split_uri(uri)
