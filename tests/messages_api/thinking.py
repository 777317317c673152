"""Thinking blocks: signed with the prefix they are made under, checked when they come back (providers.md 1.6).

Owns: signatures, the comparison on models that bind, and both answers to a mismatch (the 400, or the block left out
and reported). A signature names the model, a digest of everything before the block that is no thinking, and the
thinking block before it; so appended messages, moved markers, `effort` and a leading run of thinking taken out change
nothing, and a block taken out of the middle breaks the next one. Signatures outlive the server: the key is fixed.
Pure.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .errors import ApiError, at
from .models import Model
from .wire import THINKING, JsonObject, Place, bare, bare_block, blocks, canonical, listed, path_of, section

KEY = b"a fixed key: a local stand-in has no secrets"
ALTERED = "Invalid `signature` in `thinking` block"
BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation: the system prompt, the "
    "tools or an earlier message differs from the one it was created under."
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a signature says: model, digest of the prefix, signature before it, digest of the block's own text."""

    model: str
    prefix: str
    previous: str
    body: str

    def signed(self) -> str:
        """The opaque text."""
        plain = canonical([self.model, self.prefix, self.previous, self.body]).encode()
        seal = hmac.new(KEY, plain, hashlib.sha256).digest()
        return base64.b64encode(seal + plain).decode()


def read_claim(signature: str, body: str) -> Claim | None:
    """The claim of a signature over this text, or None if either was altered."""
    try:
        opened = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    seal, plain = opened[:32], opened[32:]
    if not hmac.compare_digest(seal, hmac.new(KEY, plain, hashlib.sha256).digest()):
        return None
    claim = Claim(*json.loads(plain))
    return claim if claim.body == _short(body) else None


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Prefix:
    """The running digest of a conversation, and the signature of the last thinking block in it."""

    def __init__(self, request: JsonObject) -> None:
        """Starts with the head: tools and system text as sent, markers apart."""
        tools = [bare(tool) for tool in listed(request, "tools")]
        system = [bare(block) for block in blocks(request.get("system"))]
        self._digest = hashlib.sha256(canonical([tools, system]).encode())
        self.last = ""

    def now(self) -> str:
        """The digest so far."""
        return self._digest.hexdigest()[:32]

    def add(self, role: str, block: JsonObject) -> None:
        """One block further; thinking only moves `last`."""
        if block["type"] in THINKING:
            self.last = str(block.get("signature", block.get("data")))
        else:
            self._digest.update(f"\x00{role} {canonical(bare_block(block))}".encode())

    def sign(self, model: str, text: str) -> str:
        """The signature of a thinking block made here."""
        return Claim(model, self.now(), self.last, _short(text)).signed()


def walked(request: JsonObject, dropped: Collection[Place] = ()) -> Prefix:
    """The prefix at the end of a request, where its reply begins; `dropped` blocks are not part of it."""
    prefix = Prefix(request)
    for index, message in enumerate(request["messages"]):
        for number, block in enumerate(blocks(message.get("content"))):
            if (index, number) not in dropped:
                prefix.add(message["role"], block)
    return prefix


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the check: an error, or what is left out of the prompt and what is reported."""

    error: ApiError | None = None
    dropped: frozenset[Place] = frozenset()
    transformations: tuple[JsonObject, ...] = ()


def check_thinking(request: JsonObject, model: Model) -> Verdict:
    """Every thinking block of a request against the prefix it stands under.

    An altered block is a 400 on any model. On a model that binds, one made under another prefix is a 400 or, under
    `drop_block`, left out with all later ones; one made by another model is always left out. On a model that does not
    bind, a mismatch is reported and shown all the same.
    """
    found = list(_mismatches(request, model))
    altered = next((place for place, reason in found if reason == "altered"), None)
    if altered:
        return Verdict(at(path_of(altered), ALTERED))
    binding = section(section(request, "thinking"), "block_binding")
    drops = binding.get("prefix_mismatch_behavior") == "drop_block"
    prefix = next((place for place, reason in found if reason == "prefix_binding_mismatch"), None)
    if model.binds and prefix and not drops:
        return Verdict(at(path_of(prefix), BOUND))
    kind = "thinking_dropped" if model.binds else "thinking_mismatch_allowed"
    return Verdict(
        dropped=frozenset(place for place, _ in found) if model.binds else frozenset(),
        transformations=tuple({"type": kind, "path": path_of(place), "reason": reason} for place, reason in found),
    )


def _mismatches(request: JsonObject, model: Model) -> Iterator[tuple[Place, str]]:
    """The blocks that fail, in order. One that is left out counts as absent for those after it."""
    prefix = Prefix(request)
    for index, message in enumerate(request["messages"]):
        for number, block in enumerate(blocks(message.get("content"))):
            reason = _judge(block, prefix, model) if block["type"] in THINKING else None
            if reason:
                yield (index, number), reason
            if not (reason and model.binds):
                prefix.add(message["role"], block)


def _judge(block: JsonObject, prefix: Prefix, model: Model) -> str | None:
    """The reason for which this block fails, or None.

    Blocks made after a failing one fail as well: an earlier change is in their digest too, and a missing block is
    missing from their chain.
    """
    claim = read_block(block)
    if claim is None:
        return "altered"
    if claim.model != model.name:
        return "model_binding_mismatch" if model.binds else None
    misplaced = prefix.last not in ("", claim.previous)
    return "prefix_binding_mismatch" if misplaced or claim.prefix != prefix.now() else None


def read_block(block: JsonObject) -> Claim | None:
    """The claim of a thinking block; a redacted one holds text and signature in its `data`."""
    if block["type"] == "thinking":
        return read_claim(block["signature"], block["thinking"])
    return read_claim(block["data"], "")
