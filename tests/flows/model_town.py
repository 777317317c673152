"""A resident over a real SDK that runs until it is killed: a script of a provider, a folder and a server's address.

It prints `up`. Each line on stdin is a message to ada. Beside the store it keeps a file of the tool calls that began
and one of the posts.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.providers.openai import OpenAI
from manyminds.actors.providers.provider import Provider
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.posts import Post


def main(name: str, folder: Path, url: str) -> None:
    """Run the town until stdin ends."""
    provider: Provider
    if name == "anthropic":
        model, provider = "claude-opus-5-5", Anthropic(api_key="k", base_url=url)
        thinking: Mapping[str, object] = {
            "type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"},
        }
    else:
        model, provider = "gpt-6-sol", OpenAI(api_key="k", base_url=url, transport="api")
        thinking = {"effort": "low"}

    def note(name: str, text: str) -> None:
        with (folder / name).open("a") as file:
            print(text, file=file, flush=True)

    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        note("tools.txt", city)
        return f"sunny in {city}"

    def publish(post: Post) -> str:
        note("posts.txt", post.text)
        return post.key

    ada = Resident("ada", model, "You are ada.", tools=[weather], thinking=thinking)
    with Runtime.open(folder / "store", [ada], provider) as town:
        town.publisher("town")(publish)
        print("up", flush=True)
        for line in sys.stdin:
            town.receive(Incoming("town", "#a", Author("zoe", "zoe"), line.strip(), mentions=("ada",)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
