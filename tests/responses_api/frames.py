"""The events of a finished response, in the provider's order. Pure; knows nothing of scripts, faults or sockets."""

from collections.abc import Iterator, Sequence

from tests.messages_api.frames import Frame
from tests.messages_api.wire import JsonObject

from .compose import Deltas


def response_frames(response: JsonObject, deltas: Deltas) -> Iterator[Frame]:
    """The stream of a response, numbered from 0."""
    for number, (kind, data) in enumerate(_events(response, deltas)):
        yield Frame(kind, {"type": kind, "sequence_number": number, **data})


def _events(response: JsonObject, deltas: Deltas) -> Iterator[tuple[str, JsonObject]]:
    opening: JsonObject = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield "response.created", {"response": opening}
    yield "response.in_progress", {"response": opening}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        yield "response.output_item.added", {**place, "item": _begun(item)}
        yield from _inside(item, deltas[index], {**place, "item_id": item.get("id", "")})
        yield "response.output_item.done", {**place, "item": item}
    yield f"response.{response['status']}", {"response": response}


def _begun(item: JsonObject) -> JsonObject:
    """An item as it is when it begins: what comes in deltas is not there yet."""
    empty: dict[str, JsonObject] = {
        "message": {"content": [], "status": "in_progress"},
        "function_call": {"arguments": "", "status": "in_progress"},
        "reasoning": {"summary": [], "encrypted_content": "gAAAA"},
    }
    begun: JsonObject = {**item, **empty.get(item["type"], {})}
    if item["type"] == "reasoning":
        begun.pop("content", None)
    return begun


def _inside(item: JsonObject, cut: Sequence[str], place: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    match item["type"]:
        case "message":
            yield from _part(item["content"][0], cut, {**place, "content_index": 0})
        case "function_call":
            for text in cut:
                yield "response.function_call_arguments.delta", {**place, "delta": text}
            yield "response.function_call_arguments.done", {**place, "arguments": item["arguments"]}
        case "reasoning" if item.get("content"):
            for text in cut:
                yield "response.reasoning_text.delta", {**place, "content_index": 0, "delta": text}
            whole = item["content"][0]["text"]
            yield "response.reasoning_text.done", {**place, "content_index": 0, "text": whole}
        case "reasoning":
            yield from _summary(item["summary"], cut, place)
        case _:
            return


def _part(part: JsonObject, cut: Sequence[str], place: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    field, kind = ("refusal", "refusal") if part["type"] == "refusal" else ("text", "output_text")
    yield "response.content_part.added", {**place, "part": {**part, field: ""}}
    for text in cut:
        yield f"response.{kind}.delta", {**place, "delta": text, **({"logprobs": []} if kind == "output_text" else {})}
    yield f"response.{kind}.done", {**place, field: part[field], **({"logprobs": []} if kind == "output_text" else {})}
    yield "response.content_part.done", {**place, "part": part}


def _summary(summary: Sequence[JsonObject], cut: Sequence[str], place: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Each part with its deltas; a cut applies to a summary of one part alone."""
    for number, part in enumerate(summary):
        here = {**place, "summary_index": number}
        yield "response.reasoning_summary_part.added", {**here, "part": {"type": "summary_text", "text": ""}}
        for text in cut if len(summary) == 1 else (part["text"],):
            yield "response.reasoning_summary_text.delta", {**here, "delta": text}
        yield "response.reasoning_summary_text.done", {**here, "text": part["text"]}
        yield "response.reasoning_summary_part.done", {**here, "part": part}
