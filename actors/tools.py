"""A host's tools: plain functions, sync or async, that a model may call.

Owns `Tool`, which a function becomes: its definition from name, type hints and docstring, the strict reading of a
call's arguments, and the result block of what it gave. What cannot be checked is refused when the tool is made; a bad
call never reaches the function. Nothing here runs a thread or a loop: the runtime invokes.
"""

import functools
import inspect
import json
import re
import types
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, overload

from ..messages.blocks import ToolDef, ToolResult
from ..messages.errors import Error, InvalidSetting
from ..messages.places import ChannelRef
from ..messages.tooldefs import define
from .docstrings import split_docstring
from .hints import Inexpressible, described, evaluate, field_of
from .results import failure, success
from .shapes import Field, Mismatch, Record, given

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OPTIONS = "__manyminds_tool__"
F = TypeVar("F", bound=Callable[..., Any])


class BadCall(Error):
    """A call that was not run; the text tells the model what was expected and what was given."""


class InnerCallFailed(Error):
    """What a script called was not run, or its result is an error; the text says which and why."""


InnerCaller: TypeAlias = Callable[[str, str], Awaitable[tuple[str, bool]]]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Whose call a tool runs for. A parameter with this hint receives it and is not shown to the model.

    `turn`: the number of the agent's turn. `channel`: where the turn speaks, None if nowhere.
    """

    agent: str
    turn: int
    call_id: str
    channel: ChannelRef | None = None
    _ask: InnerCaller | None = field(default=None, repr=False, compare=False)

    async def call(self, name: str, /, **arguments: Any) -> str:
        """Call another tool of the same agent and give back the text of its result; for scripts alone.

        It counts like a call of the model's own: a send, `skip_reply` and a private think decide over the words of the
        round (prose 13, gap 2). Raises InnerCallFailed with an error result's text, and when the script is over.
        """
        if self._ask is None:
            raise InnerCallFailed("only a tool marked @tool(script=True) may call other tools")
        text, is_error = await self._ask(name, json.dumps(arguments, ensure_ascii=False))
        if is_error:
            raise InnerCallFailed(text)
        return text


@dataclass(frozen=True, slots=True)
class _Options:
    name: str | None
    description: str | None
    script: bool = False


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, script: bool = False
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None, /, *, name: str | None = None, description: str | None = None, script: bool = False
) -> F | Callable[[F], F]:
    """Decorator: a function that is meant as a tool, with another name or description if wished.

    `script`: an async function that may call the agent's other tools with `ToolContext.call` while it runs. The words
    of its round wait for it: what it calls counts like a call of the model's own.
    The function stays what it is; `Resident(tools=[...])` and `Tool.of` read the options.
    """

    def mark(marked: F) -> F:
        setattr(marked, _OPTIONS, _Options(name, description, script))
        return marked

    return mark if function is None else mark(function)


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A function that a model may call. Make one with `Tool.of`."""

    definition: ToolDef
    function: Callable[..., Any]
    is_async: bool
    script: bool
    _arguments: Record
    _contexts: tuple[str, ...]
    _signature: inspect.Signature

    @classmethod
    def of(
        cls, function: "Callable[..., Any] | Tool", *, name: str | None = None, description: str | None = None
    ) -> "Tool":
        """The tool of a function, plain or async; a Tool is given back as it is.

        The name is the function's, the description its docstring without the part about arguments, the schema what
        its hints say; each argument's description is that of `Annotated[..., "..."]`, else the docstring's.
        Raises InvalidSetting, naming function and parameter, for what no call can be checked against.
        """
        if isinstance(function, Tool):
            return function
        options: _Options = getattr(function, _OPTIONS, None) or _Options(None, None)
        called = _check_name(name or options.name or _name_of(function), function)
        _check_kind(called, function)
        told, documented = split_docstring(_docstring(function))
        signature = _signature(called, function)
        fields, contexts = _fields(called, function, signature, documented)
        arguments = Record(fields)
        definition = define(called, description or options.description or told, arguments.schema())
        if options.script and not _is_async(function):
            raise InvalidSetting(f"tool {called!r} is a script: write it as `async def`, since it waits for its calls")
        return cls(definition, function, _is_async(function), options.script, arguments, contexts, signature)

    @property
    def name(self) -> str:
        """Its name, as the model calls it."""
        return self.definition.name

    def parse(self, arguments: str) -> dict[str, Any]:
        """The arguments of a call, from the JSON text that the model wrote. Empty text means no arguments.

        Nothing is turned into another kind of value. Raises BadCall, naming each thing that does not fit.
        """
        try:
            value: object = json.loads(arguments, parse_constant=_refuse_constant) if arguments.strip() else {}
        except (ValueError, RecursionError) as exc:
            raise BadCall(f"{self._not_run} its arguments are no JSON ({exc}). {self._expected}") from exc
        if not isinstance(value, dict):
            raise BadCall(f"{self._not_run} its arguments must be an object, not {given(value)}. {self._expected}")
        try:
            return cast("dict[str, Any]", self._arguments.read(cast(object, value), ""))
        except Mismatch as mismatch:
            lines = "".join(f"\n- {problem}" for problem in mismatch.problems)
            raise BadCall(f"{self._not_run} its arguments do not fit:{lines}\n{self._expected}") from mismatch
        except RecursionError as exc:
            raise BadCall(f"{self._not_run} its arguments are nested too deeply. {self._expected}") from exc

    def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """Call the function with arguments that `parse` gave; for an async one, the awaitable."""
        values = {**arguments, **dict.fromkeys(self._contexts, context)}
        positional: list[Any] = []
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(values.pop(name, parameter.default))
        return self.function(*positional, **values)

    async def invoke_async(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """Call an async function and wait for it."""
        value = self.invoke(arguments, context)
        return await value if inspect.isawaitable(value) else value

    def result(self, call_id: str, value: object) -> ToolResult:
        """The result of what the function gave: text, JSON or blocks; an error result for what is none of these."""
        return success(self.name, call_id, value)

    def failure(self, call_id: str, error: BaseException) -> ToolResult:
        """The error result of a call that was not run or whose function raised."""
        return failure(self.name, call_id, error, bare=isinstance(error, BadCall))

    @property
    def _not_run(self) -> str:
        return f"{self.name} was not run:"

    @property
    def _expected(self) -> str:
        return f"It expects {self._arguments.expects}. Call it again with arguments that fit."


# --- what a function says of itself


def _fields(
    called: str, function: Callable[..., Any], signature: inspect.Signature, documented: Mapping[str, str]
) -> tuple[dict[str, Field], tuple[str, ...]]:
    """(the fields that the model fills in, the names of the parameters that receive the context)."""
    namespace = _namespace(function)
    bound: frozenset[str] = frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()
    fields: dict[str, Field] = {}
    contexts: list[str] = []
    for name, parameter in signature.parameters.items():
        if name in bound:
            continue
        try:
            hint = _hint(parameter, namespace)
            if _is_context(hint):
                contexts.append(name)
            else:
                required = parameter.default is parameter.empty
                default = None if required else parameter.default
                fields[name] = field_of(hint, required, documented.get(name, ""), default)
        except Inexpressible as why:
            raise InvalidSetting(f"parameter {name!r} of tool {called!r} cannot be used: {why}") from why
    return fields, tuple(contexts)


def _hint(parameter: inspect.Parameter, namespace: Mapping[str, Any]) -> Any:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise Inexpressible(f"{parameter} takes any number of arguments; name each one, or take a list or a dict")
    if parameter.annotation is parameter.empty:
        raise Inexpressible("it has no type hint; write one, for example `name: str`")
    return evaluate(parameter.annotation, namespace)


def _is_context(hint: Any) -> bool:
    hint, _ = described(hint)
    if hint is ToolContext:
        return True
    return get_origin(hint) in (Union, types.UnionType) and set(get_args(hint)) == {ToolContext, type(None)}


def _innermost(function: Callable[..., Any]) -> Any:
    """The function that was written: behind partials, wrappers and an object with `__call__`."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    if not inspect.isroutine(inner):
        inner = type(inner).__call__
    return inspect.unwrap(inner)


def _namespace(function: Callable[..., Any]) -> Mapping[str, Any]:
    return getattr(_innermost(function), "__globals__", {})


def _docstring(function: Callable[..., Any]) -> str:
    plain = function.func if isinstance(function, functools.partial) else function
    text = inspect.getdoc(plain if inspect.isroutine(plain) else _innermost(plain)) or ""
    return text if inspect.isroutine(plain) or text else inspect.getdoc(type(plain)) or ""


def _name_of(function: Callable[..., Any]) -> str:
    plain: Any = function.func if isinstance(function, functools.partial) else function
    return getattr(plain, "__name__", type(plain).__name__)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_innermost(function))


def _check_name(name: str, function: Callable[..., Any]) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidSetting(
            f"{name!r} cannot be the name of a tool: 1 to 64 letters, digits, _ or -; "
            f"give {function!r} one with @tool(name=...) or Tool.of(..., name=...)"
        )
    return name


def _check_kind(called: str, function: Callable[..., Any]) -> None:
    inner = _innermost(function) if callable(function) else None
    if inner is None or isinstance(function, type):
        raise InvalidSetting(f"tool {called!r} must be a function, not {function!r}")
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise InvalidSetting(f"tool {called!r} yields; a tool gives one result: return a list instead")


def _signature(called: str, function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError, NameError) as exc:
        raise InvalidSetting(f"the signature of tool {called!r} cannot be read ({exc}); wrap it in a function") from exc


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
