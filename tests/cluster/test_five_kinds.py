"""The same task through an agent of each framework, in one fleet on real Ray: five answers, one tree, one trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.stub_server import StubServer, Turn
from tests.cluster.traced_kinds import KINDS, TASK
from tests.cluster.traced_run import traced

ANSWER = f"said of {TASK}"


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer([Turn(text=ANSWER)]) as stub:
        yield stub


@pytest.mark.timeout(300)
def test_the_same_task_through_five_kinds_of_agent_is_five_answers_one_tree_and_one_trace(
    server: StubServer, tmp_path: Path
) -> None:
    spans, ended = traced(tmp_path, "set_up", "tests.cluster.traced_kinds", server.base_url, seconds=280)
    assert ended.returncode == 0, ended.stderr[-2000:]

    told = json.loads(ended.stdout.splitlines()[-1])
    caller, children = told["caller"], {one["name"]: one for one in told["children"]}
    assert caller["outcome"] == "delivered", caller
    assert {name: one["message"] for name, one in children.items()} == dict.fromkeys(KINDS, ANSWER)
    assert {request["messages"][-1]["content"] for request in server.requests} == {TASK}
    assert {"graph", "openai_agent", "pydantic_agent"} <= {name for name, one in children.items() if one["usage"]}

    assert {one["root_run_id"] for one in children.values()} == {caller["run_id"]}
    assert {one["parent_run_id"] for one in children.values()} == {caller["run_id"]}
    assert len({one["run_id"] for one in children.values()}) == len(KINDS)

    by_run: dict[str, list[dict[str, object]]] = {}
    for span in spans:  # the libraries may add spans of their own
        if run_id := span["attributes"].get("symfonic_ray.run_id"):
            by_run.setdefault(run_id, []).append(span)
    assert len({span["context"]["trace_id"] for span in spans}) == 1
    assert set(by_run) == {caller["run_id"], *(one["run_id"] for one in children.values())}
    for name, one in {"caller": caller, **children}.items():
        assert sorted(f"{span['name']} {span['kind']}" for span in by_run[one["run_id"]]) == [
            f"invoke_agent {name} SpanKind.CLIENT",
            f"invoke_agent {name} SpanKind.SERVER",
        ]
