"""A resident over the real SDK that runs until it is killed: a script of a folder and a server's address.

It prints `up`. Each line on stdin is a message to ada. Beside the store it keeps a file of the tool calls that began
and one of the posts.
"""

import sys
from pathlib import Path

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.posts import Post


def main(folder: Path, url: str) -> None:
    """Run the town until stdin ends."""

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

    ada = Resident("ada", "claude-opus-5-5", "You are ada.", tools=[weather], thinking={
        "type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"},
    })
    with Runtime.open(folder / "store", [ada], Anthropic(api_key="k", base_url=url)) as town:
        town.publisher("town")(publish)
        print("up", flush=True)
        for line in sys.stdin:
            town.receive(Incoming("town", "#a", Author("zoe", "zoe"), line.strip(), mentions=("ada",)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
