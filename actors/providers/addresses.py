"""Where a provider's server is: an address that can be asked, or an error that says what an address is. Pure."""

from urllib.parse import urlsplit

from ...messages.errors import InvalidSetting


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
