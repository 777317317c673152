"""The provider without its sockets: a recorded request in, an answer out.

Owns: the order of authentication, validation, script, cache and composition, the counters of ids, and the lock around
what requests share. A refused request takes no answer from the script. Callable from any thread.
"""

import json
from collections import Counter
from threading import Lock

from tests.messages_api.errors import ApiError
from tests.messages_api.recording import Log, Recorded
from tests.messages_api.service import Answer
from tests.messages_api.wire import JsonObject, as_object, tokens

from .cache import PromptCache, pieces
from .compose import compose
from .errors import ResponsesError, converted, error, invalid
from .faults import Failed, StreamError, spoiled
from .frames import response_frames
from .models import DEFAULT_MODELS, ModelTable
from .replies import Reply, Script, always
from .validator import validate


class Service:
    """One provider: its models, its script, its cache, and what it was asked so far. `keyed`: it asks for a key."""

    def __init__(
        self, script: Script | None = None, models: ModelTable = DEFAULT_MODELS, *, keyed: bool = True
    ) -> None:
        self.script: Script = script or always("ok")
        self.models = models
        self.log = Log()
        self._keyed = keyed
        self._cache = PromptCache()
        self._numbers: Counter[str] = Counter()
        self._lock = Lock()

    def answer(self, recorded: Recorded) -> Answer:
        """The answer to a recorded POST."""
        self._identified(recorded)
        wrong = self._judged(recorded)
        if wrong:
            return self.refused(recorded, wrong)
        if recorded.counting:
            counted = sum(tokens(piece) for piece in pieces(recorded.request))
            return Answer(200, recorded.request_id, {"object": "response.input_tokens", "input_tokens": counted})
        given = self.script(recorded)
        return self._replied(recorded, given) if isinstance(given, Reply) else self.refused(recorded, given)

    def refused(self, recorded: Recorded, error: ApiError) -> Answer:
        """The answer that carries an error."""
        self._identified(recorded)
        recorded.error = error
        body = converted(error).body(recorded.request_id)
        return Answer(error.status, recorded.request_id, body, headers=dict(error.headers))

    def new_id(self, kind: str) -> str:
        """A new id: `resp_000001`, `msg_000001`, `req_000001`, ..."""
        with self._lock:
            self._numbers[kind] += 1
            return f"{kind}_{self._numbers[kind]:06d}"

    def _identified(self, recorded: Recorded) -> None:
        recorded.request_id = recorded.request_id or self.new_id("req")

    def _judged(self, recorded: Recorded) -> ResponsesError | None:
        """Everything that can be wrong with a request."""
        if self._keyed and not recorded.headers.get("authorization", "").removeprefix("Bearer ").strip():
            return error(401, "You didn't provide an API key.")
        try:
            parsed = as_object(json.loads(recorded.raw))
        except ValueError as exc:
            return invalid(f"We could not parse the JSON body of your request: {exc}")
        if parsed is None:
            return invalid("The body of a request is an object.")
        recorded.request = parsed
        return validate(parsed, self.models, counting=recorded.counting)

    def _replied(self, recorded: Recorded, reply: Reply) -> Answer:
        request = recorded.request
        with self._lock:
            plan = self._cache.look_up(request, self.models[request["model"]])
        response, deltas = compose(reply, request, self.new_id, plan)

        def begin() -> None:
            with self._lock:
                self._cache.commit(plan)
            recorded.message = response

        headers = dict(reply.headers)
        if not request.get("stream"):
            return Answer(200, recorded.request_id, response, headers=headers, begin=begin)
        frames = spoiled(tuple(response_frames(response, deltas)), reply.faults)
        wire = tuple(fault for fault in reply.faults if not isinstance(fault, (StreamError, Failed)))
        return Answer(200, recorded.request_id, JsonObject(), frames, headers, wire, begin)
