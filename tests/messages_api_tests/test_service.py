"""What stands around a body: keys, versions, JSON; each refusal with its legal neighbour."""

import json
from pathlib import Path

import pytest

from tests.messages_api.models import DEFAULT_MODELS, Model, load_models
from tests.messages_api.service import Service
from tests.messages_api_tests.asking import HEADERS
from tests.messages_api_tests.building import body

RAW = json.dumps(body()).encode()
CASES: dict[str, tuple[dict[str, str], bytes, int, str]] = {
    "no key": ({"x-api-key": ""}, RAW, 401, "x-api-key header is required"),
    "an empty bearer": ({"x-api-key": "", "authorization": "Bearer "}, RAW, 401, "x-api-key header is required"),
    "no version": ({"anthropic-version": ""}, RAW, 400, "anthropic-version: header is required"),
    "another content type": ({"content-type": "text/plain"}, RAW, 400, "content-type"),
    "no JSON": ({}, b'{"model":', 400, "The request body is not valid JSON"),
    "no UTF-8": ({}, b'{"model":"\xff"}', 400, "The request body is not valid JSON"),
    "no object": ({}, b"[]", 400, "Input should be an object"),
}


@pytest.mark.parametrize("case", CASES)
def test_around_the_body(case: str) -> None:
    """[providers 3.1] refused with the right status and type."""
    headers, raw, status, message = CASES[case]
    service = Service()
    recorded = service.log.open("/v1/messages", {**HEADERS, **headers}, raw)
    answer = service.answer(recorded)
    assert answer.status == status
    assert answer.body["error"]["type"] == {401: "authentication_error", 400: "invalid_request_error"}[status]
    assert message in answer.body["error"]["message"]
    assert recorded.error is not None
    assert answer.body["request_id"] == recorded.request_id == "req_000001"


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": "", "authorization": "Bearer k"}, {"anthropic-version": "2023-06-01"},
     {"content-type": "application/json; charset=utf-8"}],
)  # fmt: skip
def test_either_key_and_any_version_will_do(headers: dict[str, str]) -> None:
    """[providers 3.1] `Authorization: Bearer` or `x-api-key`; the version is not pinned."""
    service = Service()
    assert service.answer(service.log.open("/v1/messages", {**HEADERS, **headers}, RAW)).status == 200


def test_a_model_table_from_a_file(tmp_path: Path) -> None:
    """[providers 1.3] rows are added or replaced; a field that a model has not is an error."""
    path = tmp_path / "models.json"
    path.write_text('[{"name": "claude-opus-5", "binds": true}, {"name": "local", "prefill": true}]', encoding="utf-8")
    found = load_models(path)
    assert found["claude-opus-5"] == Model("claude-opus-5", binds=True)
    assert found["local"].prefill
    assert set(found) == {*DEFAULT_MODELS, "local"}
    path.write_text('[{"name": "x", "colour": 1}]', encoding="utf-8")
    with pytest.raises(TypeError, match="colour"):
        load_models(path)
