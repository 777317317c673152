"""Each rule of the validator has a request that it refuses: the forms walked whole, the others counted by their places.

A rule is a place in the code that makes an error. One that no refused request here comes from fails the last test.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import TypeAlias

import pytest

from tests.messages_api import (
    betas,
    errors,
    fields,
    markers,
    pairing,
    placement,
    service,
    shapes,
    thinking,
    tools,
    validator,
)
from tests.messages_api.betas import KNOWN, MCP_INLINE, OUTPUT_CONFIG
from tests.messages_api.errors import ApiError
from tests.messages_api.fields import body_check
from tests.messages_api.models import DEFAULT_MODELS, Model, table
from tests.messages_api.service import Service
from tests.messages_api.thinking import check_thinking
from tests.messages_api.validator import validate
from tests.messages_api.wire import JsonObject, as_object
from tests.messages_api_tests import test_fields, test_markers, test_pairing, test_placement, test_tools
from tests.messages_api_tests.asking import HEADERS
from tests.messages_api_tests.building import MODEL, TOOLS, a, add, body, judged, remove, s, t, tool, u
from tests.messages_api_tests.forms import broken, sample
from tests.messages_api_tests.test_service import CASES as AROUND

RULES: tuple[ModuleType, ...] = (
    betas, fields, markers, pairing, placement, service, shapes, thinking, tools, validator,
)
MAKERS = frozenset({"at", "invalid", "api_error", "_unknown", "_unanswered"})
Place: TypeAlias = tuple[str, int, int]
"""Module, line and column of a call."""
SAMPLED = table(Model("x", sampling=True))
"""The model that a sample of a form names."""


@pytest.mark.parametrize("counting", [False, True])
def test_every_rule_of_form(counting: bool) -> None:
    """[providers 3.7] Every field of every kind: missing, unknown, and of each wrong form; refused where it stands."""
    check = body_check(KNOWN, sampling=not counting, counting=counting)
    legal = as_object(sample(check))
    assert legal is not None
    assert body_check(KNOWN, sampling=not counting, counting=counting)(legal, "") is None
    count = 0
    for request, message in broken(check):
        count += 1
        error = check(request, "")
        assert error is not None, (request, message)
        assert error.status == 400
        assert error.message.startswith(message), (request, message, error.message)
        held = as_object(request)
        if held is not None:
            assert validate(held, KNOWN, SAMPLED, counting=counting) == error, request
    assert count > 400


def refused() -> Iterator[ApiError | None]:
    """The error of each of the requests that the tests beside this one hold to be wrong."""
    for wrong, _, _ in (*test_fields.CASES.values(), *test_pairing.CASES.values(), *test_markers.CASES.values()):
        yield judged(wrong)
    for wrong, without, _, _ in test_fields.BEHIND.values():
        yield judged(wrong, without)
    for entries, _ in test_placement.REFUSED.values():
        yield judged(body(*entries, tools=[tool()]))
    for entries, _ in test_placement.REFUSED_EFFORT.values():
        yield judged(body(*entries), TOOLS | {OUTPUT_CONFIG})
    for wrong, _ in test_tools.CONFLICTS.values():
        yield judged(wrong, TOOLS | {MCP_INLINE})
    for limits, wrong, _ in test_tools.LIMITS.values():
        yield judged(wrong, limits=limits)
    for wrong, _, _ in (*test_tools.UNRESOLVED.values(), *test_tools.HEADS.values()):
        yield judged(wrong, TOOLS | {MCP_INLINE})
    yield judged(body(u(), s(remove("look")), tools=[tool()], tool_choice={"type": "tool", "name": "look"}))
    yield judged(body(), {"inline-tools-2026-09-16"})
    yield judged({**body(), "model": "claude-nobody"})
    yield judged({**body(u(), s()), "model": "claude-opus-4-7"})
    yield judged({**body(u(), s(add(tool("b")))), "model": "claude-sonnet-5"})
    yield validate(body(u(), s(add(tool("b")))), TOOLS, table(Model(MODEL, tool_changes="reference")))
    yield from (check(value, "") for check in (body_check(KNOWN), body_check(KNOWN, counting=True))
                for value, _ in broken(check))
    yield from thought()
    for headers, raw, _, _ in AROUND.values():
        recorded = Service().log.open("/v1/messages", {**HEADERS, **headers}, raw)
        Service().answer(recorded)
        yield recorded.error


def thought() -> Iterator[ApiError | None]:
    """An altered block, and one that stands under another prefix."""
    signed = thinking.walked(body(u("q1"))).sign(MODEL, "hm")
    for first, words in (("q1", "other"), ("Q1", "hm")):
        block: JsonObject = {"type": "thinking", "thinking": words, "signature": signed}
        yield check_thinking(body(u(first), a([block, t("so")]), u()), DEFAULT_MODELS[MODEL]).error


def places(module: ModuleType) -> Iterator[Place]:
    """Each place in a module that makes an error."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            yield module.__name__, node.lineno, node.col_offset


def places_of(frame: FrameType | None) -> Iterator[Place]:
    """The place of each call that is under way."""
    while frame is not None:
        line, _, column, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        yield str(frame.f_globals["__name__"]), line or 0, column or 0
        frame = frame.f_back


def test_no_rule_is_without_a_request_that_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """[issue 4, done 4] Every place that makes an error has made one, for a request in these tests."""
    seen: set[Place] = set()
    made = errors.ApiError.__init__

    def note(self: ApiError, *given: object, **named: object) -> None:
        seen.update(places_of(sys._getframe(1)))
        made(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(errors.ApiError, "__init__", note)
    assert all(error is not None for error in refused())
    known = {place for module in RULES for place in places(module)}
    assert len(known) > 50
    missed = sorted(known - seen)
    assert missed == [], missed
