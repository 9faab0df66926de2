"""Why a cluster does not take or start a job, in words that say what to do. A table: knows no client and no clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """One known trouble."""

    problem: str
    remedy: str
    passing: bool
    """Whether it may be gone on a second try."""


_TOKEN = "set RAY_AUTH_MODE=token with RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH here, as the cluster's owner says"
_TABLE: tuple[tuple[tuple[str, ...], Explanation], ...] = (
    (
        ("no available agent",),
        Explanation(
            "the head has no job agent yet",
            "wait for the cluster to be up; when another Ray runs on that machine, start this one with its own "
            "--dashboard-agent-listen-port",
            True,
        ),
    ),
    (
        ("authentication required", "status code 401"),
        Explanation("the cluster asks for a token (401)", _TOKEN, True),
    ),
    (
        ("authentication failed", "status code 403"),
        Explanation("the cluster does not accept this token (403)", _TOKEN, True),
    ),
    (
        ("already exists", "already been submitted", "already submitted"),
        Explanation("a job with this id is there already", "give another --submission-id", False),
    ),
    (
        ("does not exist", "status code 404"),
        Explanation("the cluster knows no such job", "'ray job list' shows those it knows", False),
    ),
    (
        ("failed to connect", "connection refused", "connection aborted", "timed out", "max retries", "did not answer"),
        Explanation(
            "nothing answers there",
            "give the dashboard's address, as http://HEAD:8265, and see that the head runs with ray[default]",
            True,
        ),
    ),
    (
        ("status code 413", "entity too large"),
        Explanation("the parcel is too large for the cluster", "name what the job does not need in .rayignore", False),
    ),
    (
        ("status code 5",),
        Explanation("the head could not do it", "see dashboard_agent.log and dashboard.log on the head", True),
    ),
)


def explained(words: str) -> Explanation:
    """The trouble behind the words of an error; one of its own for words that nobody knows."""
    lower = words.lower()
    for marks, explanation in _TABLE:
        if any(mark in lower for mark in marks):
            return explanation
    first = next((line.strip() for line in words.splitlines() if line.strip()), "no reason given")
    return Explanation(first[:300], "see the dashboard's logs on the head", True)


def pending_for_ever(message: str | None, *, waited_seconds: float, runtime_env: bool) -> Explanation:
    """Why a job does not leave PENDING.

    Args:
        message: what the cluster says of the job.
        waited_seconds: until now.
        runtime_env: whether packages are to be installed for it.
    """
    said = " ".join((message or "").split())[:200] or "nothing more"
    remedy = "see 'ray status' there: the head needs a live node with free memory and whatever the job asks for"
    if runtime_env:
        remedy += "; installing what --runtime-env-json names may take longer: raise --start-timeout"
    problem = f"the job has not started within {waited_seconds:g} seconds, and the cluster says: {said}"
    return Explanation(problem, remedy, False)


def ended_without_outcome(status: str, exit_code: int | None, error_type: str | None, message: str | None) -> str:
    """Why a job is over and its log ends in no outcome."""
    said = next((line.strip() for line in (message or "").splitlines() if line.strip()), "")[:300]
    if exit_code == 127:
        return "the cluster has no 'python' on the PATH of its head; start Ray there from the environment that has it"
    if exit_code == 1 and "no module named" in (message or "").lower():
        missing = (message or "")[(message or "").lower().rindex("no module named") :].splitlines()[0][:120]
        remedy = "install it there or name it under pip in --runtime-env-json"
        return f"a library is missing on the cluster: {missing}; {remedy}"
    if error_type and "RUNTIME_ENV" in error_type:
        return f"the runtime environment could not be set up: {said}"
    if status == "STOPPED":
        return "it was stopped before it could say how far it came"
    code = "" if exit_code is None else f" with exit code {exit_code}"
    return f"it ended as {status}{code} and did not say how: {said}"
