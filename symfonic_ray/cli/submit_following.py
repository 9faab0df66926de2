"""A job that a cluster has taken, from the first line of its log to its exit code. Starts no job."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.streams import say

if TYPE_CHECKING:
    from symfonic_ray.jobs.client import JobCluster, JobState

FIRST_SECONDS, MOST_SECONDS = 0.5, 5.0  # between two looks at the log, which is asked for whole each time
STOPPING_SECONDS = 90.0  # a job has 60 to end by itself


def follow(
    cluster: JobCluster,
    submission_id: str,
    write: Callable[[str], None],
    *,
    pause: Callable[[float], None] = time.sleep,
) -> JobState:
    """Hand each line of a job's log to ``write`` as it comes, until the job has ended; its last state.

    Raises:
        SubmissionError: if the cluster does not answer any more.
    """
    shown, seconds = 0, FIRST_SECONDS
    while True:
        state = cluster.state(submission_id)
        log = cluster.log(submission_id)
        end = len(log) if state.ended else log.rfind("\n") + 1
        if end > shown:
            for line in log[shown:end].removesuffix("\n").split("\n"):
                write(line)
            shown = end
        if state.ended:
            return state
        pause(seconds)
        seconds = min(seconds * 1.2, MOST_SECONDS)


def say_unless_outcome(line: str) -> None:
    """Write a line of a log to stderr; its outcome, which may be long, is told in words instead."""
    from symfonic_ray.jobs import outcome_in

    if outcome_in([line]) is None:
        say(line)


def wait_until_ended(cluster: JobCluster, submission_id: str) -> JobState:
    """The state of a job that was asked to end, when it has or after 90 seconds.

    Raises:
        SubmissionError: if the cluster does not answer any more.
    """
    deadline = time.monotonic() + STOPPING_SECONDS
    state = cluster.state(submission_id)
    while not state.ended and time.monotonic() < deadline:
        time.sleep(FIRST_SECONDS)
        state = cluster.state(submission_id)
    return state


def ending_of(cluster: JobCluster, state: JobState) -> dict[str, Any]:
    """How a job ended: what its last line says, else what can be known; with ``id``, ``status`` and ``exit_code``.

    Raises:
        SubmissionError: if the cluster does not answer any more.
    """
    from symfonic_ray.jobs import outcome_in
    from symfonic_ray.jobs.hiccups import ended_without_outcome

    facts: dict[str, Any] = {"id": state.id, "status": state.status}
    if not state.ended:
        return facts
    told = outcome_in(cluster.log(state.id).splitlines())
    if told is not None:
        return facts | told
    stopped = state.status == "STOPPED"
    return facts | {
        "outcome": "cancelled" if stopped else "failed",
        "message": ended_without_outcome(state.status, state.exit_code, state.error_type, state.message),
        "exit_code": ExitCode.CANCELLED if stopped else ExitCode.FAILED,
        "results_log": None,
    }


def fetch_results(cluster: JobCluster, state: JobState, ending: dict[str, Any], output: Path) -> bool:
    """Write a job's results to ``output``; whether there were any.

    Raises:
        SubmissionError: if they cannot be had.
    """
    name = ending.get("results_log")
    if not isinstance(name, str) or state.node_id is None:
        return False
    cluster.save(state.node_id, name, output)
    say(f"results in {output}")
    return True
