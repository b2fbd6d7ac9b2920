"""Every method that is found runs through the contract. A new method needs no new test."""

import pytest

from polhode.methods import Method, catalogue


@pytest.fixture(params=list(catalogue().values()), ids=list(catalogue()))
def method(request: pytest.FixtureRequest) -> Method:
    chosen: Method = request.param
    return chosen
