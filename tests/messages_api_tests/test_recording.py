"""What is kept of a request, and raw JSON cut into its members."""

from threading import Thread

import pytest

from tests.messages_api.recording import Log, Recorded, extends, list_items, members

RAW = ' { "tools" : [ {"a": 1},{"b":[2, 3]} ] ,"system":"x, \\"]}","messages":[],\n "n":1.50}\n'


def recorded(raw: str) -> Recorded:
    """A recorded body."""
    return Log().open("/v1/messages", {}, raw.encode())


def test_members_are_the_exact_text() -> None:
    """[providers 3.2] spaces and number forms are kept."""
    assert members(RAW) == {
        "tools": '[ {"a": 1},{"b":[2, 3]} ]',
        "system": '"x, \\"]}"',
        "messages": "[]",
        "n": "1.50",
    }
    assert members("{}") == {}


def test_items_are_the_exact_text() -> None:
    """[providers 3.2] a list's items, nested ones included."""
    assert list_items('[ {"a": 1} , [2, 3],"x" ]') == ('{"a": 1}', "[2, 3]", '"x"')
    assert list_items("[]") == ()
    assert list_items("") == ()
    assert recorded(RAW).items("tools") == ('{"a": 1}', '{"b":[2, 3]}')
    assert recorded(RAW).member("nothing") == ""


EARLIER = '{"tools":[1],"system":"s","messages":[{"a":1},2]}'
LATER = {
    '{"tools":[1],"system":"s","messages":[{"a":1},2]}': True,
    '{"messages":[{"a":1},2,3],"max_tokens":5,"tools":[1],"system":"s"}': True,
    '{"tools":[1],"system":"s","messages":[{"a":1}]}': False,
    '{"tools":[1],"system":"s","messages":[{"a": 1},2]}': False,
    '{"tools":[1 ],"system":"s","messages":[{"a":1},2]}': False,
    '{"tools":[1],"messages":[{"a":1},2]}': False,
}


@pytest.mark.parametrize("later", LATER)
def test_a_later_body_extends_an_earlier_one_in_bytes(later: str) -> None:
    """[context 6.2] same `tools` and `system`, and the messages as a prefix."""
    assert extends(recorded(EARLIER), recorded(later)) is LATER[later]


def test_the_log_counts_and_can_be_waited_for() -> None:
    """[providers 3.2] numbers from 1, rounds apart from counts, a wait that ends when the request is there."""
    log = Log()
    thread = Thread(target=lambda: [log.open(path, {}, b"") for path in ("/v1/messages", "/v1/messages/count_tokens")])
    thread.start()
    assert [one.number for one in log.wait_for(2)] == [1, 2]
    thread.join()
    assert [one.number for one in log.rounds()] == [1]
    assert [one.counting for one in log.all()] == [False, True]
    with pytest.raises(TimeoutError, match="2 of 3 requests"):
        log.wait_for(3, 0.0)
