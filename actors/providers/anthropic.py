"""`Anthropic`: Claude over the official SDK, one round at a time (providers.md 2).

Owns the SDK's clients and the key; the body, the events and the errors are made beside it. The SDK retries nothing, so
that the runtime's ladder counts every attempt. What a model cannot carry is refused before anything is sent.
"""

import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, get_args

from ...messages.errors import InvalidSetting
from ...messages.request import Capabilities, Done, ErrorRecord, Event, Limits, Request, RoundFailed
from .addresses import check_address
from .anthropic_errors import error_record
from .anthropic_events import Assembly
from .anthropic_models import Transport, capabilities_of
from .anthropic_wire import OWN_FIELDS, Body, body_of
from .clients import Clients, key_of, key_of_client, load, patience
from .provider import Provider, RefusedBeforeSending
from .rate_limits import anthropic_limits, own_limits

_log = logging.getLogger(__name__)
# Of the body, what `count_tokens` takes.
COUNTED = ("model", "messages", "system", "tools", "thinking", "tool_choice")


class Anthropic(Provider):
    """Claude models.

    `api_key`: else ANTHROPIC_API_KEY. `base_url`: else ANTHROPIC_BASE_URL, else the provider's own. `models`: what a
    model can do, by name, before the dated data. `transport`: the platform that serves them, with `client` to make its
    SDK client (such as `AsyncAnthropicBedrock`), whose own retries are switched off. `timeout`: seconds without a byte.
    `cache_ttl` of the cache markers. `requests_per_minute`, `tokens_per_minute`: limits of the host's own.

    Of `Resident.extra`, `betas` and `tools` (the provider's own tools) are added to the runtime's, the rest are fields
    of the body. Raises ProviderError where the SDK or a key is missing, InvalidSetting for a wrong option.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        models: Mapping[str, Capabilities] | None = None,
        transport: Transport = "api",
        client: Callable[[], Any] | None = None,
        timeout: float = 600.0,
        cache_ttl: Literal["5m", "1h"] = "5m",
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        name: str = "anthropic",
    ) -> None:
        if cache_ttl not in ("5m", "1h"):
            raise InvalidSetting("cache_ttl must be '5m' or '1h'")
        if transport not in get_args(Transport):
            raise InvalidSetting(f"transport must be one of {', '.join(get_args(Transport))}")
        self.name = name
        self.own_limits: Limits | None = own_limits(requests_per_minute, tokens_per_minute)
        self._models = dict(models or {})
        self._transport: Transport = transport
        self._ttl = cache_ttl
        check_address(os.environ.get("ANTHROPIC_BASE_URL") if base_url is None else base_url)
        sdk = load("anthropic")
        self._secret = secret = key_of(api_key, "ANTHROPIC_API_KEY", needed=client is None)
        wait = patience(sdk, timeout)
        made = client or (lambda: sdk.AsyncAnthropic(api_key=secret.reveal(), base_url=base_url, timeout=wait))
        self._clients = Clients(lambda: self._known(made().with_options(max_retries=0)))

    def __repr__(self) -> str:
        return f"Anthropic(name={self.name!r}, transport={self._transport!r})"

    def _known(self, client: Any) -> Any:
        self._secret = key_of_client(client, self._secret)
        return client

    def capabilities(self, model: str) -> Capabilities:
        """What the model can do over this transport; see `anthropic_models`."""
        return capabilities_of(model, self._transport, self._models)

    def check(self, request: Request) -> None:
        """Refuse what the model cannot carry, a change without a place (1.4), and a field that is the runtime's."""
        super().check(request)
        self._body(request)

    def _body(self, request: Request) -> Body:
        taken = sorted(OWN_FIELDS & set(request.extra))
        if taken:
            text = f"Resident.extra must not hold {', '.join(taken)}; the runtime sets it"
            raise RefusedBeforeSending(ErrorRecord("invalid_request", text, before_send=True))
        body = body_of(request, self.capabilities(request.model), self._ttl)
        if body is None:
            text = "a change of the head stands after an assistant turn with nothing after it; move the head instead"
            raise RefusedBeforeSending(ErrorRecord("system_change_refused", text, before_send=True))
        return body

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """One round. Ends in Done or RoundFailed, whatever happens; only cancelling goes through."""
        begun = False
        try:
            body = self._body(request)
            client = await self._clients.get()
            async with await _open(client, body) as stream:
                headers = stream.response.headers
                assembly = Assembly(headers.get("request-id", ""), anthropic_limits(headers))
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
            limits = None if begun or answer is None else anthropic_limits(answer.headers)
            yield RoundFailed(error_record(exc, self._secret, begun=begun), limits)

    async def count_tokens(self, request: Request) -> int | None:
        """The input tokens as the provider counts them, or None where it does not answer."""
        try:
            body = self._body(request)
            given = {name: body.fields[name] for name in COUNTED if name in body.fields}
            client = await self._clients.get()
            counted = await client.beta.messages.count_tokens(**given, **_betas(body))
        except Exception as exc:
            _log.info("tokens were not counted: %s", error_record(exc, self._secret).text)
            return None
        return int(counted.input_tokens)

    async def close(self) -> None:
        """Close the connections of the running loop; they also close with the loop."""
        await self._clients.close()


def _betas(body: Body) -> dict[str, Any]:
    return {"betas": list(body.betas)} if body.betas else {}


async def _open(client: Any, body: Body) -> Any:
    named = ("model", "max_tokens", "messages", "system", "tools", "thinking")
    given = {name: body.fields[name] for name in named if name in body.fields}
    more = {name: value for name, value in body.fields.items() if name not in named}
    return await client.beta.messages.create(**given, **_betas(body), stream=True, extra_body=more or None)
