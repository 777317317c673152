"""The provider without its sockets: a recorded request in, an answer out.

Owns: the order of authentication, validation, thinking check, script, cache and composition, the counters of ids, and
the lock around what requests share. A refused request takes no answer from the script. Callable from any thread;
random walks use it directly, the server puts HTTP around it. Never blocks but inside the script.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from .betas import BINDING, read_betas
from .cache import PromptCache
from .compose import compose
from .diagnosis import Diagnosis
from .errors import ApiError, api_error, invalid
from .faults import Fault
from .frames import Frame, message_frames
from .models import DEFAULT_MODELS, ModelTable
from .prompt import count, keys, render
from .recording import Log, Recorded
from .replies import Reply, Script, always
from .thinking import Verdict, check_thinking, walked
from .tools import Limits
from .validator import validate
from .wire import JsonObject, as_object


def _nothing() -> None:
    """The begin of an answer that changes nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out. `frames` for a stream, else `body`. `begin` is called as the first byte is about to leave."""

    status: int
    request_id: str
    body: JsonObject
    frames: tuple[Frame, ...] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    faults: tuple[Fault, ...] = ()
    begin: Callable[[], None] = _nothing


class Service:
    """One provider: its models, its script, its cache, and what it was asked so far."""

    def __init__(
        self,
        script: Script | None = None,
        models: ModelTable = DEFAULT_MODELS,
        clock: Callable[[], float] = time.monotonic,
        limits: Limits | None = None,
    ) -> None:
        """`clock`: seconds that only grow, for the cache's lifetimes; tests inject one."""
        self.script: Script = script or always("ok")
        self.models = models
        self.log = Log()
        self._cache = PromptCache(clock)
        self._diagnosis = Diagnosis()
        self._limits = limits or Limits()
        self._numbers: Counter[str] = Counter()
        self._lock = Lock()

    def answer(self, recorded: Recorded) -> Answer:
        """The answer to a recorded POST."""
        self._identified(recorded)
        judged = self._judged(recorded)
        if isinstance(judged, ApiError):
            return self.refused(recorded, judged)
        given = self._counted(recorded, judged) if recorded.counting else self._scripted(recorded, judged)
        return self.refused(recorded, given) if isinstance(given, ApiError) else given

    def refused(self, recorded: Recorded, error: ApiError) -> Answer:
        """The answer that carries an error."""
        self._identified(recorded)
        recorded.error = error
        return Answer(error.status, recorded.request_id, error.body(recorded.request_id), headers=dict(error.headers))

    def new_id(self, kind: str) -> str:
        """A new id: `msg_000001`, `toolu_000001`, `req_000001`, ..."""
        with self._lock:
            self._numbers[kind] += 1
            return f"{kind}_{self._numbers[kind]:06d}"

    def _identified(self, recorded: Recorded) -> None:
        recorded.request_id = recorded.request_id or self.new_id("req")

    def _judged(self, recorded: Recorded) -> Verdict | ApiError:
        """Everything that can be wrong with a request, and what is left out of its prompt."""
        error = judge_headers(recorded) or self._parse(recorded)
        if error:
            return error
        request = recorded.request
        error = validate(request, recorded.betas, self.models, counting=recorded.counting, limits=self._limits)
        if error:
            return error
        verdict = check_thinking(request, self.models[request["model"]])
        return verdict.error or verdict

    def _parse(self, recorded: Recorded) -> ApiError | None:
        try:
            parsed = as_object(json.loads(recorded.raw))
        except ValueError as error:
            return invalid(f"The request body is not valid JSON: {error}")
        if parsed is None:
            return invalid("Input should be an object")
        recorded.request = parsed
        recorded.betas = read_betas([recorded.headers.get("anthropic-beta", "")])
        return None

    def _counted(self, recorded: Recorded, verdict: Verdict) -> Answer:
        total = count(render(recorded.request, verdict.dropped))
        return Answer(200, recorded.request_id, {"input_tokens": total})

    def _scripted(self, recorded: Recorded, verdict: Verdict) -> Answer | ApiError:
        given = self.script(recorded)
        return self._replied(recorded, verdict, given) if isinstance(given, Reply) else given

    def _replied(self, recorded: Recorded, verdict: Verdict, reply: Reply) -> Answer:
        request = recorded.request
        pieces = render(request, verdict.dropped)
        with self._lock:
            plan = self._cache.look_up(pieces, keys(request, pieces), self.models[request["model"]].cache_minimum)
            diagnostics = self._diagnosis.explain(request, pieces, plan.read)
        composed = compose(reply, request, walked(request, verdict.dropped), self.new_id, plan.usage())
        message = composed.message
        if request.get("diagnostics") is not None:
            message["diagnostics"] = diagnostics
        if BINDING in recorded.betas:
            message["input_transformations"] = list(verdict.transformations)

        def begin() -> None:
            with self._lock:
                self._cache.commit(plan)
                self._diagnosis.remember(message["id"], request, pieces)
            recorded.message = message

        frames = tuple(message_frames(message, composed.cuts, reply.pings)) if request.get("stream") else None
        return Answer(200, recorded.request_id, message, frames, dict(reply.headers), reply.faults, begin)


def judge_headers(recorded: Recorded) -> ApiError | None:
    """A key in either header, any `anthropic-version`, and a JSON body."""
    headers = recorded.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not headers.get("x-api-key") and not bearer:
        return api_error(401, "x-api-key header is required")
    if not headers.get("anthropic-version"):
        return invalid("anthropic-version: header is required")
    kind = headers.get("content-type", "").split(";")[0].strip()
    return None if kind == "application/json" else invalid("content-type: must be application/json")
