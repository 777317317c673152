"""References, names, limits and what a model takes: each refusal with its legal neighbour."""

import pytest

from tests.messages_api.betas import MCP_INLINE, TOOL_REFERENCES
from tests.messages_api.models import DEFAULT_MODELS, Model, table
from tests.messages_api.tools import Limits, family, offered_texts, offered_tools
from tests.messages_api.validator import validate
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import MODEL, TOOLS, a, add, body, judged, refused, remove, s, t, tool, u

BASH: JsonObject = {"type": "bash_20250124", "name": "bash"}
SERVERS: list[JsonObject] = [{"name": name, "type": "url", "url": "http://127.0.0.1/"} for name in ("files", "mail")]
MCP = TOOLS | {MCP_INLINE}


def toolset(server: str, *names: str) -> JsonObject:
    """An MCP toolset with a pinned listing."""
    return {"type": "mcp_toolset", "mcp_server_name": server, "tools": [{"name": name} for name in names]}


def mcp_reference(kind: str, server: str, name: str) -> JsonObject:
    """A removal that names one MCP tool, or a whole toolset (no name)."""
    held = {"type": f"mcp_{kind}_reference", "server_name": server} | ({"name": name} if name else {})
    return {"type": "tool_removal", "tool": held}


LISTED: JsonObject = {"type": "mcp_tool_listing", "mcp_server_name": "files", "tools": []}
UNRESOLVED: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "removal of an unknown tool": (
        body(u(), s(remove("ghost")), tools=[tool()]),
        body(u(), s(remove("look")), tools=[tool()]),
        "ghost",
    ),
    "offer of an unknown tool": (
        body(u(), s(add("ghost")), tools=[tool()]),
        body(u(), s(add("look")), tools=[tool()]),
        "ghost",
    ),
    "removal before the definition": (
        body(u(), s(remove("late")), a(), u(), s(add(tool("late")))),
        body(u(), s(add(tool("late"))), a(), u(), s(remove("late"))),
        "late",
    ),
    "removal before the definition, in one message": (
        body(u(), s(remove("late"), add(tool("late")))),
        body(u(), s(add(tool("late")), remove("late"))),
        "late",
    ),
    "mcp toolset that is nowhere": (
        body(u(), s(mcp_reference("toolset", "mail", "")), tools=[toolset("files")], mcp_servers=SERVERS),
        body(u(), s(mcp_reference("toolset", "files", "")), tools=[toolset("files")], mcp_servers=SERVERS),
        "mail",
    ),
    "mcp tool that is not in the listing": (
        body(u(), s(mcp_reference("tool", "files", "write")), tools=[toolset("files", "read")], mcp_servers=SERVERS),
        body(u(), s(mcp_reference("tool", "files", "read")), tools=[toolset("files", "read")], mcp_servers=SERVERS),
        "write",
    ),
    "mcp listing of a server whose toolset is nowhere": (
        body(u(), a([LISTED, t("so")]), u(), tools=[toolset("mail")], mcp_servers=SERVERS),
        body(u(), a([LISTED, t("so")]), u(), tools=[toolset("files")], mcp_servers=SERVERS),
        "files",
    ),
    "toolset of a server that is not named": (
        body(u(), s(add(toolset("post"))), mcp_servers=SERVERS),
        body(u(), s(add(toolset("mail"))), mcp_servers=SERVERS),
        "post",
    ),
}


@pytest.mark.parametrize("case", UNRESOLVED)
def test_a_reference_has_to_resolve_at_its_position(case: str) -> None:
    """[providers 1.5] `tool_reference_unresolved`."""
    wrong, right, name = UNRESOLVED[case]
    error = refused(wrong, MCP)
    assert error.code == "tool_reference_unresolved"
    assert error.message == f"tool_addition/tool_removal references unknown tool '{name}'"
    assert judged(right, MCP) is None


LEGAL = {
    "defined again after a removal": [u(), s(remove("look")), a(), u(), s(add(tool()))],
    "offered again after a removal": [u(), s(remove("look")), a(), u(), s(add("look"))],
    "removed twice": [u(), s(remove("look")), a(), u(), s(remove("look"))],
    "defined again as it is": [u(), s(add(tool()))],
    "redefined": [u(), s(add(tool(description="new")))],
    "inline tool referred to later": [u(), s(add(tool("b"))), a(), u(), s(remove("b")), a(), u(), s(add("b"))],
}


@pytest.mark.parametrize("case", LEGAL)
def test_what_a_change_may_do(case: str) -> None:
    """[providers 1.1] redefine, resend, remove, define or offer again."""
    assert judged(body(*LEGAL[case], tools=[tool()])) is None


CONFLICTS: dict[str, tuple[JsonObject, JsonObject]] = {
    "custom over bash": (
        body(u(), s(add(tool("bash"))), tools=[BASH]),
        body(u(), s(remove("bash"), add(tool("bash"))), tools=[BASH]),
    ),
    "bash over custom": (
        body(u(), s(add(BASH)), tools=[tool("bash")]),
        body(u(), s(add(BASH)), tools=[tool("shell")]),
    ),
    "custom over an mcp tool": (
        body(u(), s(add(tool("files_read"))), tools=[toolset("files", "read")], mcp_servers=SERVERS),
        body(u(), s(add(tool("files_seek"))), tools=[toolset("files", "read")], mcp_servers=SERVERS),
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_name_belongs_to_one_family(case: str) -> None:
    """[providers 1.5] `tool_name_conflict`; a removed tool holds no name."""
    wrong, right = CONFLICTS[case]
    assert refused(wrong, MCP).code == "tool_name_conflict"
    assert judged(right, MCP) is None


def test_a_newer_version_of_one_kind_is_no_conflict() -> None:
    """[SDK tool_family] the date is not part of the kind."""
    assert judged(body(u(), s(add({"type": "bash_20250124", "name": "bash"})), tools=[BASH])) is None
    assert family({"type": "browser_toolset_20260801"}) == "browser"
    assert family({"name": "x"}) == "custom"


HEADS: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "one name twice": (
        body(tools=[tool("x"), tool("x")]), body(tools=[tool("x"), tool("X")]), "tools: Tool names must be unique."),
    "a custom tool under the name of an mcp tool": (
        body(tools=[toolset("files", "read"), tool("files_read")], mcp_servers=SERVERS),
        body(tools=[toolset("files", "read"), tool("files_seek")], mcp_servers=SERVERS),
        "tools: Tool names must be unique."),
    "a toolset of a server that is not named": (
        body(tools=[tool(), toolset("post")], mcp_servers=SERVERS),
        body(tools=[tool(), toolset("mail")], mcp_servers=SERVERS),
        "tools.1: MCP server 'post' not found in mcp_servers"),
}


@pytest.mark.parametrize("case", HEADS)
def test_the_tools_of_the_head(case: str) -> None:
    """[providers 3.7] Names are unique across families, and a toolset's server is named."""
    wrong, right, message = HEADS[case]
    assert refused(wrong, MCP).message == message
    assert judged(right, MCP) is None


def test_a_forced_tool_has_to_be_on_offer() -> None:
    """[providers 1.1] what `tool_choice` names is looked up at the end of the conversation."""
    choice: JsonObject = {"type": "tool", "name": "look"}
    gone = body(u(), s(remove("look")), tools=[tool()], tool_choice=choice)
    assert "Tool 'look' not found" in refused(gone).message
    assert judged(body(u(), s(add(tool())), tool_choice=choice)) is None


LIMITS: dict[str, tuple[Limits, JsonObject, JsonObject]] = {
    "deferred": (
        Limits(deferred=1),
        body(u(), s(add(tool("c", defer_loading=True))), tools=[tool("b", defer_loading=True)]),
        body(u(), s(add(tool("c"))), tools=[tool("b", defer_loading=True)]),
    ),
    "inline": (
        Limits(inline=1),
        body(u(), s(add(tool("b")), add(tool("c")))),
        body(u(), s(add(tool("b")), remove("b"))),
    ),
    "bytes sent later": (
        Limits(inline_bytes=60),
        body(u(), s(add(tool("b", description="twenty characters...")))),
        body(u(), s(add(tool("b")))),
    ),
    "bytes on offer": (
        Limits(rendered_bytes=60),
        body(u(), s(add(tool("b"))), tools=[tool()]),
        body(u(), s(remove("look"), add(tool("b"))), tools=[tool()]),
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits(case: str) -> None:
    """[providers 1.5] `available_tools_limit_exceeded`, with limits small enough to read."""
    limits, wrong, right = LIMITS[case]
    assert refused(wrong, limits=limits).code == "available_tools_limit_exceeded"
    assert judged(right, limits=limits) is None


def test_the_real_limits() -> None:
    """[providers 1.5] 10,000 inline definitions pass and 10,001 do not."""
    many = [add(tool(f"t{number}")) for number in range(10_001)]
    assert judged(body(u(), s(*many[:-1]))) is None
    assert refused(body(u(), s(*many))).code == "available_tools_limit_exceeded"
    assert Limits() == Limits(10_000, 10_000, 4_194_304, 4_194_304)


def test_what_is_on_offer_at_the_end() -> None:
    """[context 6.3] head, additions, a redefinition in its place, a removal, an offer of a deferred tool."""
    request = body(
        u(),
        s(add(tool("c")), add("b")),
        a(),
        u(),
        s("note", remove("c"), add(tool("look", description="new", cache_control={"type": "ephemeral"}))),
        tools=[tool(), tool("b", defer_loading=True), tool("d", defer_loading=True)],
        system=[t("be brief")],
    )
    assert judged(request) is None
    assert offered_tools(request) == (tool(description="new"), tool("b", defer_loading=True))
    assert offered_texts(request) == ("be brief", "note")


def test_a_tool_redefined_as_deferred_is_off_the_offer_until_it_is_added() -> None:
    """[providers 1.1] the later definition counts, its deferral too."""
    deferred = body(u(), s(add(tool(defer_loading=True))), tools=[tool()])
    assert offered_tools(deferred) == ()
    again = body(u(), s(add(tool(defer_loading=True))), a(), u(), s(add("look")), tools=[tool()])
    assert offered_tools(again) == (tool(defer_loading=True),)


ROLE = "role 'system' is not supported on this model"
CHANGES = "tool_addition/tool_removal is not supported on this model"
TAKES = {
    "claude-opus-5-5": (None, None),
    "claude-opus-5": (None, None),
    "claude-fable-5": (None, None),
    "claude-opus-4-8": (None, None),
    "claude-haiku-5-5": (None, None),
    "claude-sonnet-5-5": (None, None),
    "claude-sonnet-5": (None, CHANGES),
    "claude-opus-4-7": (ROLE, ROLE),
    "claude-sonnet-4-6": (ROLE, ROLE),
    "claude-haiku-4-5": (ROLE, ROLE),
    "claude-mythos-preview": (ROLE, ROLE),
}


@pytest.mark.parametrize("model", TAKES)
def test_what_each_model_takes(model: str) -> None:
    """[providers 1.3] text and tool changes by model; Sonnet 5 takes text (and ignores it) but no tool change."""
    found = [judged({**body(u(), s(part)), "model": model}) for part in ("note", add(tool("b")))]
    assert tuple(error and error.message for error in found) == TAKES[model]


def test_a_model_by_reference_only() -> None:
    """[providers 1.3] Bedrock and Google Cloud: references, no definition."""
    bedrock = table(Model(MODEL, tool_changes="reference"))
    by_value, by_name = body(u(), s(add(tool("b")))), body(u(), s(remove("look")), tools=[tool()])
    error = validate(by_value, TOOLS, bedrock)
    assert error is not None
    assert error.message == "tool_definition is not supported on this model"
    assert validate(by_name, {TOOL_REFERENCES}, bedrock) is None


def test_an_unknown_model_is_not_found() -> None:
    """[providers 3.7] 404, not a 400."""
    error = judged({**body(), "model": "claude-nobody"})
    assert error is not None
    assert (error.status, error.type, error.message) == (404, "not_found_error", "model: claude-nobody")


def test_the_binding_models() -> None:
    """[providers 1.6] who compares thinking with its prefix; where sources disagree, the strict reading."""
    binds = {name for name, model in DEFAULT_MODELS.items() if model.binds}
    assert binds == {
        "claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2", "claude-opus-5-5",
        "claude-sonnet-5-5", "claude-haiku-5-5",
    }  # fmt: skip
