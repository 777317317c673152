"""`OpenAI`: models behind the Responses API over the official SDK, one round at a time (providers.md 2.4).

Owns the SDK's clients and the key; the body, the events and the errors are made beside it. Nothing is kept on the
server, and the SDK retries nothing, so that the runtime's ladder counts every attempt. What a model cannot carry is
refused before anything is sent.
"""

import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, get_args

from ...messages.errors import InvalidSetting
from ...messages.request import Capabilities, Done, ErrorRecord, Event, Limits, Request, RoundFailed
from .addresses import check_address
from .clients import Clients, key_of, key_of_client, load, patience
from .openai_errors import error_record
from .openai_events import Assembly
from .openai_models import Transport, capabilities_of, reasons, transport_of
from .openai_wire import OWN_FIELDS, Json, body_of, removals
from .provider import Provider, RefusedBeforeSending
from .rate_limits import openai_limits, own_limits

_log = logging.getLogger(__name__)
# Of the body, what the count of tokens takes.
COUNTED = ("model", "instructions", "tools", "input", "reasoning", "text", "tool_choice", "parallel_tool_calls")
LOCAL = "; a local server may need none: give base_url=... (--base-url)"


class OpenAI(Provider):
    """OpenAI's models, and those of any server that speaks the Responses API, such as Ollama or llama.cpp.

    `api_key`: else OPENAI_API_KEY; a server of another address may need none. `base_url`: else OPENAI_BASE_URL, else
    OpenAI's own; of a local server up to `/v1`. `models`: what a model can do, by name, before the dated data.
    `transport`: `api` where the address serves OpenAI's own API; by default that is told from the address, and any
    other server is taken to carry no changes of a head. `client` makes the SDK client (such as `AsyncAzureOpenAI`),
    whose own retries are switched off. `timeout` in seconds without a byte. `requests_per_minute`,
    `tokens_per_minute`: limits of the host's own.

    `Resident.thinking` is the API's `reasoning`. Of `Resident.extra`, `include` and `tools` (the provider's own tools)
    are added to the runtime's, the rest are fields of the body. Raises ProviderError where the SDK or a key is missing,
    InvalidSetting for a wrong option.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        models: Mapping[str, Capabilities] | None = None,
        transport: Transport | None = None,
        client: Callable[[], Any] | None = None,
        timeout: float = 600.0,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        name: str = "openai",
    ) -> None:
        if transport not in (None, *get_args(Transport)):
            raise InvalidSetting(f"transport must be one of {', '.join(get_args(Transport))}")
        self.name = name
        self.own_limits: Limits | None = own_limits(requests_per_minute, tokens_per_minute)
        self._models = dict(models or {})
        address = os.environ.get("OPENAI_BASE_URL") if base_url is None else base_url
        check_address(address)
        told = transport_of(address) if client is None else "compatible"
        self._transport: Transport = transport or told
        sdk = load("openai")
        self._secret = secret = key_of(
            api_key, "OPENAI_API_KEY", needed=client is None and told == "api", otherwise=LOCAL
        )
        wait = patience(sdk, timeout)
        made = client or (lambda: sdk.AsyncOpenAI(api_key=secret.reveal() or "none", base_url=base_url, timeout=wait))
        self._clients = Clients(lambda: self._known(made().with_options(max_retries=0)))

    def __repr__(self) -> str:
        return f"OpenAI(name={self.name!r}, transport={self._transport!r})"

    def _known(self, client: Any) -> Any:
        self._secret = key_of_client(client, self._secret)
        return client

    def capabilities(self, model: str) -> Capabilities:
        """What the model can do over this transport; see `openai_models`."""
        return capabilities_of(model, self._transport, self._models)

    def check(self, request: Request) -> None:
        """Refuse what the model or the API cannot carry, and a field that is the runtime's."""
        super().check(request)
        self._body(request)

    def _body(self, request: Request) -> Json:
        taken = sorted(OWN_FIELDS & set(request.extra))
        if taken:
            text = f"Resident.extra must not hold {', '.join(taken)}; the runtime sets it"
            raise RefusedBeforeSending(ErrorRecord("invalid_request", text, before_send=True))
        gone = removals(request)
        if gone:
            text = f"the Responses API has no words for a removed tool ({', '.join(gone)}); move the head instead"
            raise RefusedBeforeSending(ErrorRecord("system_change_refused", text, before_send=True))
        return body_of(request, reasons=self._transport == "api" and reasons(request.model))

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """One round. Ends in Done or RoundFailed, whatever happens; only cancelling goes through."""
        begun, request_id = False, ""
        try:
            super().check(request)
            body = self._body(request)
            client = await self._clients.get()
            async with await client.responses.create(stream=True, extra_body=body) as stream:
                headers = stream.response.headers
                request_id = headers.get("x-request-id", "")
                assembly = Assembly(request_id, openai_limits(headers))
                async for raw in stream:
                    begun = True
                    for event in assembly.feed(raw.to_dict(warnings=False)):
                        yield event
                        if isinstance(event, (Done, RoundFailed)):
                            return
                yield assembly.truncated()
        except RefusedBeforeSending as refused:
            yield RoundFailed(refused.error)
        except Exception as exc:
            answer = getattr(exc, "response", None)
            limits = None if begun or answer is None else openai_limits(answer.headers)
            yield RoundFailed(error_record(exc, self._secret, begun=begun, request_id=request_id), limits)

    async def count_tokens(self, request: Request) -> int | None:
        """The input tokens as the provider counts them, or None where it does not answer."""
        try:
            body = self._body(request)
            given = {name: body[name] for name in COUNTED if name in body}
            client = await self._clients.get()
            counted = await client.responses.input_tokens.count(extra_body=given)
        except Exception as exc:
            _log.info("tokens were not counted: %s", error_record(exc, self._secret).text)
            return None
        return int(counted.input_tokens)

    async def close(self) -> None:
        """Close the connections of the running loop; they also close with the loop."""
        await self._clients.close()
