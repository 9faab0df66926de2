"""One trace over all processes of a tree: who handed what to whom, which tools were used; no task, no answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.traced_run import traced

DRIVER = "tests.cluster.traced_driver"


@pytest.mark.timeout(150)
def test_driver_child_grandchild_and_tool_are_one_connected_trace(tmp_path: Path) -> None:
    spans, ended = traced(tmp_path, "set_up", DRIVER)
    assert ended.returncode == 0, ended.stderr[-2000:]
    by_id = {span["context"]["span_id"]: span for span in spans}
    request = next(span for span in spans if span["name"] == "the request")
    assert {span["context"]["trace_id"] for span in spans} == {request["context"]["trace_id"]}
    assert all(span["parent_id"] in by_id for span in spans if span is not request)

    def path(span: dict[str, Any]) -> list[str]:
        above = by_id.get(span["parent_id"] or "")
        return [*(path(above) if above else []), f"{span['name']} {span['kind'].removeprefix('SpanKind.').lower()}"]

    tool = next(span for span in spans if span["name"] == "execute_tool double")
    assert path(tool) == [
        "the request internal",
        "invoke_agent stem client",
        "invoke_agent stem server",
        "invoke_agent counting client",
        "invoke_agent counting server",
        "execute_tool double internal",
    ]
    names = Counter(span["name"] for span in spans)
    assert names["invoke_agent echo"] == 6  # three hand-offs in bulk, each by its caller and by its host
    assert names["invoke_agent here"] == 1
    unknown = next(span for span in spans if span["name"] == "invoke_agent")
    assert unknown["status"]["status_code"] == "ERROR"
    assert unknown["attributes"]["error.type"] == "unknown_child"
    called = next(span for span in spans if path(span)[-1] == "invoke_agent counting client")["attributes"]
    ran = next(span for span in spans if path(span)[-1] == "invoke_agent counting server")["attributes"]
    assert called["symfonic_ray.run_id"] == ran["symfonic_ray.run_id"]
    assert called["symfonic_ray.root_run_id"] != called["symfonic_ray.run_id"]
    assert (ran["gen_ai.operation.name"], ran["gen_ai.agent.name"], ran["symfonic_ray.depth"]) == (
        "invoke_agent",
        "counting",
        2,
    )
    assert "secret task text" not in json.dumps(spans)
    assert "It is 42" not in json.dumps(spans)


@pytest.mark.timeout(150)
def test_a_hook_that_fails_costs_the_trace_and_not_the_run(tmp_path: Path) -> None:
    spans, ended = traced(tmp_path, "broken", DRIVER)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert spans == []
    assert "this process is not traced: RuntimeError: no collector here" in ended.stderr
