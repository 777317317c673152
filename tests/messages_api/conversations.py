"""Random legal conversations with changes in them, for walks through the validator, the service or an adapter.

Owns: `conversation`, a generator of the moments at which a request goes out. At each it gives the rows as a client
compiles them, with every change where it happened, and the request as it has to be sent, with every change moved to
the slot it may stand in (providers.md 1.4); so a client's own placement can be compared with it. The tools and texts
on offer are kept here on their own account. Deterministic in the seed; does not read the validator.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .betas import INLINE_TOOLS
from .wire import JsonObject, blocks

Answerer: TypeAlias = Callable[[JsonObject], JsonObject]
"""From a request to the assistant message that answers it."""

BETAS = frozenset({INLINE_TOOLS})
MODEL = "claude-opus-5-5"
WORDS = ("sun", "rain", "tide", "moss", "ash", "über", "雨", "stone", "reed", "salt")


@dataclass(frozen=True, slots=True)
class Moment:
    """One request to be sent.

    `compiled`: the messages with changes where they happened; `request`: the body, changes in their slots.
    `tools` and `texts`: what the model is offered at its end, by the generator's own account.
    """

    compiled: tuple[JsonObject, ...]
    request: JsonObject
    tools: tuple[JsonObject, ...]
    texts: tuple[str, ...]


def tool(name: str, version: int) -> JsonObject:
    """A tool definition; another version is another definition of the same name."""
    properties = {word: {"type": "string"} for word in WORDS[: 1 + version % 4]}
    return {
        "name": name,
        "description": f"{name}, version {version}",
        "input_schema": {"type": "object", "properties": properties},
    }


def change(*parts: JsonObject) -> JsonObject:
    """A system message of these blocks."""
    return {"role": "system", "content": list(parts)}


def added(definition: JsonObject) -> JsonObject:
    """The block that defines a tool by value."""
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}


def offered(name: str) -> JsonObject:
    """The block that offers a tool by reference."""
    return {"type": "tool_addition", "tool": {"type": "tool_reference", "name": name}}


def removed(name: str) -> JsonObject:
    """The block that withdraws a tool."""
    return {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}


def text(words: str) -> JsonObject:
    """A text block."""
    return {"type": "text", "text": words}


@dataclass(slots=True)
class _Walk:
    rng: random.Random
    references: bool
    head: list[JsonObject] = field(default_factory=list[JsonObject])
    defined: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    offer: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    texts: list[str] = field(default_factory=list[str])
    compiled: list[JsonObject] = field(default_factory=list[JsonObject])
    sent: list[JsonObject] = field(default_factory=list[JsonObject])
    number: int = 0

    def words(self) -> str:
        """A few words that no other call gives again."""
        self.number += 1
        return f"m{self.number} {' '.join(self.rng.choices(WORDS, k=self.rng.randint(1, 8)))}"

    def begin(self) -> None:
        """The head: one to three tools, one or two system texts."""
        self.head = [tool(f"tool_{index}", 0) for index in range(self.rng.randint(1, 3))]
        self.defined = {one["name"]: one for one in self.head}
        self.offer = dict(self.defined)
        self.texts = [self.words() for _ in range(self.rng.randint(1, 2))]

    def gap(self, calls: Sequence[str]) -> None:
        """What stands between two assistant turns: results if calls wait, user messages, and changes among them."""
        rng = self.rng
        users = [] if calls else [self._user()]
        users += [self._user() for _ in range(rng.choice((0, 0, 1, 2)))]
        changes = [self._change() for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
        results = [self._results(calls)] if calls else []
        self.sent += [*results, *users, *changes]
        slots = sorted(rng.randint(0, len(users)) for _ in changes)
        self.compiled += results
        for index in range(len(users) + 1):
            self.compiled += [one for one, slot in zip(changes, slots, strict=True) if slot == index]
            self.compiled += users[index : index + 1]

    def _user(self) -> JsonObject:
        if self.rng.random() < 0.5:
            return {"role": "user", "content": self.words()}
        return {"role": "user", "content": [text(self.words()) for _ in range(self.rng.randint(1, 3))]}

    def _results(self, calls: Sequence[str]) -> JsonObject:
        content: list[JsonObject] = [
            {"type": "tool_result", "tool_use_id": call, "content": self.words()}
            if self.rng.random() < 0.5
            else {"type": "tool_result", "tool_use_id": call, "content": [text(self.words())], "is_error": True}
            for call in self.rng.sample(list(calls), len(calls))
        ]
        return {"role": "user", "content": content + ([text(self.words())] if self.rng.random() < 0.2 else [])}

    def _change(self) -> JsonObject:
        """Removals first, then additions, at most one block for a name; or a text; or both."""
        rng = self.rng
        names = rng.sample([*self.defined, f"tool_{len(self.defined)}"], rng.randint(0, min(3, len(self.defined))))
        gone = [name for name in names if name in self.offer and rng.random() < 0.4]
        parts = [self._remove(name) for name in gone]
        parts += [self._add(name) for name in names if name not in gone]
        if not parts or rng.random() < 0.3:
            self.texts.append(self.words())
            parts.append(text(self.texts[-1]))
        return change(*parts)

    def _remove(self, name: str) -> JsonObject:
        del self.offer[name]
        return removed(name)

    def _add(self, name: str) -> JsonObject:
        if self.references and name in self.defined and self.rng.random() < 0.3:
            self.offer.setdefault(name, self.defined[name])
            return offered(name)
        self.defined[name] = self.offer[name] = tool(name, self.rng.randint(0, 9))
        return added(self.defined[name])

    def reply(self, request: JsonObject) -> JsonObject:
        """An assistant message: text, and now and then calls of tools, withdrawn ones among them."""
        content = [text(self.words())] if self.rng.random() < 0.8 else []
        if not content or self.rng.random() < 0.4:
            content += [self._call() for _ in range(self.rng.randint(1, 3))]
        return {"role": "assistant", "content": content}

    def _call(self) -> JsonObject:
        self.number += 1
        name = self.rng.choice([*self.defined])
        return {"type": "tool_use", "id": f"call_{self.number}", "name": name, "input": {"words": self.words()}}


def conversation(
    seed: int,
    rounds: int,
    answer: Answerer | None = None,
    *,
    model: str = MODEL,
    marked: bool = False,
    references: bool = True,
) -> Iterator[Moment]:
    """The moments of a random conversation of so many requests.

    `answer`: who answers; by default replies are made up (without thinking). `marked`: a cache marker on the last
    system block and on the last user message. `references`: whether changes also refer to tools defined earlier; else
    every addition is a definition.
    """
    walk = _Walk(random.Random(seed), references)
    walk.begin()
    head = list(walk.texts)
    calls: list[str] = []
    for _ in range(rounds):
        walk.gap(calls)
        request = _body(walk, head, model, marked)
        yield Moment(tuple(walk.compiled), request, tuple(walk.offer.values()), tuple(walk.texts))
        said = (answer or walk.reply)(request)
        walk.sent.append(said)
        walk.compiled.append(said)
        calls = [block["id"] for block in blocks(said["content"]) if block["type"] == "tool_use"]


def _body(walk: _Walk, head: Sequence[str], model: str, marked: bool) -> JsonObject:
    marker = {"cache_control": {"type": "ephemeral"}} if marked else {}
    system = [text(words) for words in head]
    system[-1] = {**system[-1], **marker}
    messages = list(walk.sent)
    if marked:
        last = max(index for index, message in enumerate(messages) if message["role"] == "user")
        content = blocks(messages[last]["content"])
        messages[last] = {"role": "user", "content": [*content[:-1], {**content[-1], **marker}]}
    return {"model": model, "max_tokens": 1024, "system": system, "tools": walk.head, "messages": messages}
