"""What is said of a cluster that does not take a job, and of a job that ended."""

from __future__ import annotations

import socket

import pytest

from symfonic_ray.jobs import ParcelError, SubmissionError, outcome_in, outcome_line
from symfonic_ray.jobs.client import JobCluster
from symfonic_ray.jobs.hiccups import ended_without_outcome, explained, pending_for_ever


@pytest.mark.parametrize(
    ("words", "problem", "passing"),
    [
        ("Request failed with status code 500: No available agent to submit job, please try again", "job agent", True),
        ("Authentication required: Unauthorized", "asks for a token (401)", True),
        ("Authentication failed: Forbidden", "does not accept this token (403)", True),
        ("Request failed with status code 500: Job with submission_id x already exists.", "there already", False),
        ("Request failed with status code 404: Job x does not exist", "knows no such job", False),
        ("[Errno 111] Connection refused", "nothing answers", True),
        ("Request failed with status code 503: busy", "the head could not do it", True),
        ("\nsomething new\nwith a traceback", "something new", True),
    ],
)
def test_a_trouble_is_told_apart_by_its_words(words: str, problem: str, passing: bool) -> None:
    why = explained(words)
    assert problem in why.problem
    assert why.passing is passing
    assert why.remedy


def test_a_job_that_stays_pending_is_explained_with_what_the_cluster_says() -> None:
    why = pending_for_ever("Job is waiting for resources (CPUs)", waited_seconds=5, runtime_env=True)
    assert "5 seconds" in why.problem
    assert "waiting for resources (CPUs)" in why.problem
    assert "ray status" in why.remedy
    assert "--start-timeout" in why.remedy


@pytest.mark.parametrize(
    ("status", "code", "error_type", "message", "words"),
    [
        ("FAILED", 127, None, "", "no 'python' on the PATH"),
        ("FAILED", 1, None, "x\nModuleNotFoundError: No module named 'typer'\n", "No module named 'typer'"),
        ("FAILED", None, "RUNTIME_ENV_SETUP_FAILURE", "pip failed", "could not be set up: pip failed"),
        ("STOPPED", None, None, "", "stopped before it could say"),
        ("FAILED", -9, None, "killed", "exit code -9"),
    ],
)
def test_a_job_without_an_outcome_is_explained(
    status: str, code: int | None, error_type: str | None, message: str, words: str
) -> None:
    assert words in ended_without_outcome(status, code, error_type, message)


def test_an_address_where_nothing_listens_is_tried_twice_and_then_explained() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pauses: list[float] = []
    with pytest.raises(SubmissionError, match="nothing answers there") as refused:
        JobCluster(f"http://127.0.0.1:{port}", pause=pauses.append)
    assert len(pauses) == 1
    assert f"http://127.0.0.1:{port}" in str(refused.value)


def test_an_address_without_http_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(ParcelError, match="give it as http://HEAD:8265"):
        JobCluster("127.0.0.1:6379")


def test_the_outcome_is_the_last_such_line_of_a_log() -> None:
    line = outcome_line({"outcome": "delivered"}, exit_code=0, results_log="r.jsonl")
    found = outcome_in(["words", '{"symfonic_ray_job": broken', '{"outcome": "of a child"}', line, "Ray says bye"])
    assert found == {"symfonic_ray_job": 1, "outcome": "delivered", "exit_code": 0, "results_log": "r.jsonl"}
    assert outcome_in(["words"]) is None
