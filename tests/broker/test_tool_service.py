"""The service of the tests: its documents are valid, and each route that they name is there."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from openapi_spec_validator import validate
from tool_service import KEY, SHOP, TROUBLE, ToolService


def open_to(service: ToolService) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(service.url).netloc)


@pytest.mark.parametrize("file", [SHOP, TROUBLE])
def test_a_document_is_valid_and_its_routes_are_there(file: Path) -> None:
    with ToolService() as service:
        document = service.document(file)
        validate(document)
        connection = open_to(service)
        for path, item in document["paths"].items():
            if "get" not in item or path in ("/trouble/large", "/trouble/endless", "/trouble/slow"):
                continue
            filled = path.replace("{productId}", "1").replace("{customerId}", "7").replace("{status}", "404")
            connection.request("GET", filled, headers={"X-Api-Key": KEY})
            said = connection.getresponse()
            text = said.read()
            assert "there is no /" not in text.decode("latin-1"), path
            assert said.status < 500 or "flaky" in path, path
        connection.close()


def test_an_order_is_stored_and_seen() -> None:
    with ToolService() as service:
        connection = open_to(service)
        body = json.dumps({"customer": 7, "lines": [{"product": 1, "quantity": 2}]})
        connection.request("POST", "/orders", body, {"Content-Type": "application/json"})
        refused = connection.getresponse()
        assert refused.status == 401
        refused.read()
        connection.request("POST", "/orders", body, {"Content-Type": "application/json", "X-Api-Key": KEY})
        order = json.loads(connection.getresponse().read())
        assert order == {**order, "id": 1001, "customer": 7, "total": 17.0, "state": "new"}
        assert [seen.line for seen in service.writes] == ["POST /orders", "POST /orders"]
        connection.close()
