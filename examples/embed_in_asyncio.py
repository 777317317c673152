"""A host with an event loop of its own: everything is awaited, nothing blocks the loop.

The publisher and the tool are coroutines and run on this very loop. Runs offline. `python examples/embed_in_asyncio.py`
"""

import asyncio
import tempfile

from manyminds import AsyncRuntime, Author, Incoming, Post, Resident, Scripted
from manyminds.actors.providers.scripted import Answer, call, newest_results
from manyminds.messages.blocks import text_of
from manyminds.messages.request import Request


async def lookup(word: str) -> str:
    """Look a word up.

    Args:
        word: The word.
    """
    await asyncio.sleep(0.05)
    return {"actor": "somebody who acts, one letter at a time"}.get(word, "not found")


def answer(request: Request) -> Answer:
    """Look it up first, then say what was found."""
    results = newest_results(request)
    return f"An actor: {text_of(results[0].content)}." if results else call("lookup", word="actor")


async def main() -> None:
    """Receive one message, and wait for the answer while the loop goes on ticking."""
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    resident = Resident("ada", "scripted", "You know words.", tools=[lookup])
    ticks = 0

    with tempfile.TemporaryDirectory() as folder:
        async with AsyncRuntime.open(folder, residents=[resident], provider=Scripted(otherwise=answer)) as runtime:

            @runtime.publisher("desk")
            async def show(post: Post) -> str:
                answered.set_result(post.text)
                return "message-1"  # a bare id means delivered

            await runtime.receive(
                Incoming("desk", "front", Author("v1", "visitor"), "What is an actor?", id="41", kind="dm")
            )
            while not answered.done():
                await asyncio.sleep(0.01)
                ticks += 1
            print(f"ada: {answered.result()}")
            print("the loop went on ticking" if ticks > 1 else "the loop was blocked")


if __name__ == "__main__":
    asyncio.run(main())
