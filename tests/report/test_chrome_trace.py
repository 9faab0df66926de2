"""The trace of a run, in the form that Chrome's and Perfetto's viewers read."""

from __future__ import annotations

import json
from dataclasses import replace

from symfonic_ray.report.chrome_trace import chrome_trace
from tests.report.test_html_report import ROW, tree_of_500


def test_each_hand_off_is_one_complete_event_in_microseconds() -> None:
    trace = json.loads(json.dumps(chrome_trace("readers", tree_of_500())))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(events) == 500
    for event in events:
        assert {"name", "cat", "ts", "dur", "pid", "tid", "args"} <= event.keys()
        assert type(event["ts"]) is int
        assert type(event["dur"]) is int
    assert max(event["dur"] for event in events) == 4_000_000


def test_hand_offs_of_one_lane_do_not_overlap() -> None:
    free: dict[int, int] = {}
    for event in chrome_trace("readers", tree_of_500())["traceEvents"]:
        if event["ph"] == "X":
            assert free.get(event["tid"], 0) <= event["ts"]
            free[event["tid"]] = event["ts"] + event["dur"]


def test_every_lane_has_the_name_of_its_child() -> None:
    rows = [ROW, replace(ROW, name="critic")]
    events = chrome_trace("readers", rows)["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert [names[event["tid"]] for event in events if event["ph"] == "X"] == ["reader", "critic"]


def test_one_after_another_shares_a_lane() -> None:
    events = chrome_trace("readers", [ROW, replace(ROW, started_seconds=1.0)])["traceEvents"]
    assert len({event["tid"] for event in events if event["ph"] == "X"}) == 1


def test_each_host_is_a_process_of_the_trace_and_says_what_it_serves() -> None:
    rows = [ROW, replace(ROW, name="critic"), replace(ROW, generation=7), replace(ROW, name="local", generation=0)]
    events = chrome_trace("readers", rows)["traceEvents"]
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert processes == {1: "readers", 2: "critic, reader, host 1", 8: "reader, host 7"}
    assert [event["pid"] for event in events if event["ph"] == "X"] == [2, 2, 8, 1]
