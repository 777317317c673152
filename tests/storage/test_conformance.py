"""Both stores do what `conformance` says."""

from collections.abc import Callable

import pytest

from manyminds.storage import Store
from tests.storage import conformance

Open = Callable[[], Store]


@pytest.mark.parametrize("rule", conformance.PLAIN, ids=lambda rule: rule.__name__)
def test_store(rule: Callable[[Open], None], open_one: Open) -> None:
    """[design, What lasts] see the rule's own docstring."""
    rule(open_one)


def test_unreadable_records(open_one: Open, caplog: pytest.LogCaptureFixture) -> None:
    """[design, Codec] a torn record, or one of another version, is named and set aside."""
    conformance.unreadable_records_are_named_and_passed_over(open_one, caplog)
