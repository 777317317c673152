"""Two residents in one room: what one of them says, the other one has heard.

Runs offline: a script stands in for the model. `python examples/two_residents.py`
"""

import tempfile
import threading

from manyminds import Author, Delivered, Incoming, Post, Resident, Runtime, Scripted
from manyminds.actors.providers.scripted import newest_text
from manyminds.messages.blocks import text_of
from manyminds.messages.request import Request


def cook(request: Request) -> str:
    """What bert answers: he repeats what ada has said, so he must have heard it."""
    heard = [text_of(message.content) for message in request.messages]
    plans = [text for text in heard if text.startswith("ada: ")]
    return f"I know, she said: {plans[-1].removeprefix('ada: ')}" if plans else f"To {newest_text(request)!r}: no idea."


def main() -> None:
    """Ask ada in one channel, then bert in another."""
    model = Scripted().always("We harvest on Friday.", agent="ada").always(cook, agent="bert")
    posted = threading.Semaphore(0)

    with tempfile.TemporaryDirectory() as folder, Runtime.open(
        folder,
        residents=[
            Resident("ada", "scripted", "You look after the garden."),
            Resident("bert", "scripted", "You look after the kitchen."),
        ],
        provider=model,
    ) as runtime:

        @runtime.publisher("house")
        def show(post: Post) -> Delivered:
            print(f"{post.channel} {post.author}: {post.text}")
            posted.release()
            return Delivered(post.key)

        for channel, name, text in (
            ("#garden", "ada", "ada: when do we harvest?"),
            ("#kitchen", "bert", "bert: do you know ada's plans?"),
        ):
            print(f"{channel} mira: {text}")
            accepted = runtime.receive(Incoming("house", channel, Author("m1", "mira"), text, mentions=(name,)))
            assert accepted.woken == (name,)
            posted.acquire(timeout=30)


if __name__ == "__main__":
    main()
