"""What a host gives a provider to reach its server, an address and a key: they can be used, or an error says why not.

Pure. Neither is ever shown in an error's text.
"""

from urllib.parse import urlsplit

from ...messages.errors import InvalidSetting, ProviderError
from .failures import Secret


def check_address(base_url: str | None) -> None:
    """Raise InvalidSetting for an address that no request can go to; None, the provider's own, is right.

    A wrong address would fail each request as if the server were down, and be asked again and again.
    """
    if base_url is None:
        return
    try:
        parts = urlsplit(base_url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or not base_url.isprintable() or " " in base_url:
        # The value is not shown: it may be a key in the wrong place.
        raise InvalidSetting("base_url, where the model's server is, must be http://HOST[:PORT] or https://HOST[:PORT]")


def check_key(secret: Secret, variable: str) -> None:
    """Raise ProviderError for a key that no header can hold, such as two lines; an empty one is no key and passes."""
    key = secret.reveal()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ProviderError(f"the key ({variable}, or api_key=...) holds what no key does, as a space; copy it again")
