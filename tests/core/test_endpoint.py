from __future__ import annotations

import pytest
from pydantic import ValidationError

from specdoctor.core.endpoint import Endpoint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"base_url": "https://me:hunter2@host/v1"}, "holds a password"),
        ({"base_url": "file:///etc/passwd"}, "no address of a server"),
        ({"max_cost": 1.0}, "needs price_in and price_out"),
        ({"model": ""}, "at least 1 character"),
    ],
)
def test_what_cannot_be_asked_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Endpoint.model_validate({"model": "m", **given})


def test_prices_are_for_a_million_tokens() -> None:
    assert Endpoint(model="m", price_in=2.0, price_out=8.0).cost(500_000, 250_000) == 3.0
    assert Endpoint(model="m").cost(1, 1) is None
