"""The stand-in on a loopback port: the sockets of `tests.messages_api`, with this API's paths and names."""

from tests.messages_api.recording import Recorded
from tests.messages_api.server import ApiServer

from .service import Service

PATHS = frozenset({"/v1/responses", "/v1/responses/input_tokens"})


class ResponsesServer(ApiServer):
    """A running stand-in. Use it as a context manager; `base_url` is what a client is pointed at."""

    paths = PATHS
    opening = "response.created"
    id_header = "x-request-id"

    def __init__(self, service: Service | None = None, port: int = 0) -> None:
        super().__init__(service or Service(), port)

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:<port>/v1`."""
        return f"{self.url}/v1"


def extends(earlier: Recorded, later: Recorded) -> bool:
    """Whether the later body has the earlier one's tools and instructions and begins with its input, in bytes."""
    same = all(earlier.member(name) == later.member(name) for name in ("tools", "instructions"))
    before, now = earlier.items("input"), later.items("input")
    return same and now[: len(before)] == before
