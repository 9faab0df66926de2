"""A cluster that takes jobs: every question to it is bounded, tried twice where the trouble may pass, and explained.

Decides when to try again and when to give up. What a job is made of comes from outside.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from symfonic_ray.jobs.errors import ParcelError, SubmissionError
from symfonic_ray.jobs.hiccups import explained, pending_for_ever

REACH_SECONDS = 5.0
ANSWER_SECONDS = 30.0
UPLOAD_SECONDS = 300.0
AGAIN_SECONDS = 3.0  # an agent that starts with its head is there some seconds later
POLL_SECONDS = 0.5
START_SECONDS = 120.0

_OVERRULE = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")  # Ray prefers these to an address that it is given
_ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """How a job stands."""

    id: str
    status: str
    """``PENDING``, ``RUNNING``, ``SUCCEEDED``, ``FAILED`` or ``STOPPED``."""
    message: str
    exit_code: int | None
    """Of the job's command, once it ended by itself."""
    error_type: str | None
    node_id: str | None
    """Of the node that its command runs on."""

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.status in _ENDED


class JobCluster:
    """A cluster by the address of its dashboard.

    Args:
        address: ``http://host:port`` or ``https://host:port``.
        pause: waits so many seconds.
    Raises:
        ParcelError: for what is no such address.
        SubmissionError: if it does not answer, or lets nobody in.
    """

    def __init__(self, address: str, *, pause: Callable[[float], None] = time.sleep) -> None:
        self.address = address
        self._pause = pause
        self._reach()
        self._client: Any = self._twice(self._connected, ANSWER_SECONDS)  # Any: Ray's client is untyped

    def submit(self, *, entrypoint: str, submission_id: str, runtime_env: Mapping[str, Any], parcel: Path) -> None:
        """Upload a parcel and hand a job over.

        Raises:
            SubmissionError: if the cluster does not take it.
        """
        whole = {**runtime_env, "working_dir": str(parcel)}
        tries = 0

        def handed_over() -> None:
            nonlocal tries
            tries += 1
            try:
                self._client.submit_job(entrypoint=entrypoint, submission_id=submission_id, runtime_env=whole)
            except RuntimeError as error:
                if tries == 1 or "already" not in str(error).lower():  # else the first try did arrive
                    raise

        self._twice(handed_over, UPLOAD_SECONDS)

    def state(self, submission_id: str) -> JobState:
        """How a job stands.

        Raises:
            SubmissionError: if the cluster does not know it or does not answer.
        """
        told = self._twice(lambda: self._client.get_job_info(submission_id), ANSWER_SECONDS)
        return JobState(
            id=submission_id,
            status=getattr(told.status, "value", str(told.status)),
            message=told.message or "",
            exit_code=told.driver_exit_code,
            error_type=getattr(told.error_type, "value", told.error_type),
            node_id=told.driver_node_id,
        )

    def started(self, submission_id: str, *, seconds: float, runtime_env: bool) -> JobState:
        """Wait until a job leaves PENDING; one that does not is stopped.

        Raises:
            SubmissionError: when ``seconds`` are over, with what may be missing.
        """
        deadline = time.monotonic() + seconds
        state = self.state(submission_id)
        while state.status == "PENDING":
            if time.monotonic() >= deadline:
                self.stop(submission_id)
                why = pending_for_ever(state.message, waited_seconds=seconds, runtime_env=runtime_env)
                raise SubmissionError(self.address, why.problem, why.remedy)
            self._pause(POLL_SECONDS)
            state = self.state(submission_id)
        return state

    def log(self, submission_id: str) -> str:
        """All of a job's log until now.

        Raises:
            SubmissionError: if the cluster does not know it or does not answer.
        """
        return str(self._twice(lambda: self._client.get_job_logs(submission_id), ANSWER_SECONDS))

    def stop(self, submission_id: str) -> bool:
        """Ask a job to end; whether it ran.

        Raises:
            SubmissionError: if the cluster does not know it or does not answer.
        """
        return bool(self._twice(lambda: self._client.stop_job(submission_id), ANSWER_SECONDS))

    def save(self, node_id: str, name: str, path: Path) -> None:
        """Write a file of a node's logs to ``path``.

        Raises:
            SubmissionError: if it cannot be had.
        """
        question = urlencode({"node_id": node_id, "filename": name, "lines": -1})  # -1: from the beginning

        def written() -> None:
            # Ray's own get_log asks the cluster's inner address, which a submitter need not reach; this asks the
            # dashboard, with the same client and token as everything else.
            answer = self._client._do_request("GET", f"/api/v0/logs/file?{question}", stream=True)
            if answer.status_code != 200:
                raise RuntimeError(f"Request failed with status code {answer.status_code}: {answer.text[:300]}")
            with path.open("wb") as file:
                for piece in answer.iter_content(chunk_size=1 << 20):
                    file.write(piece)

        self._twice(written, UPLOAD_SECONDS)

    def _reach(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            problem, remedy = "is no address of a dashboard", "give it as http://HEAD:8265"
            raise ParcelError(f"--address {self.address}", problem, remedy)

        def knock() -> None:
            place = (parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))
            with socket.create_connection(place, timeout=REACH_SECONDS):
                pass

        self._twice(knock, REACH_SECONDS + 1.0)

    def _connected(self) -> Any:
        from ray.job_submission import JobSubmissionClient

        kept = {name: os.environ.pop(name) for name in _OVERRULE if name in os.environ}
        try:
            return JobSubmissionClient(self.address)
        finally:
            os.environ.update(kept)

    def _twice(self, ask: Callable[[], _T], seconds: float) -> _T:
        try:
            return _bounded(ask, seconds)
        except Exception as error:
            if not explained(_words(error)).passing:
                raise self._explained(error) from None
        self._pause(AGAIN_SECONDS)
        try:
            return _bounded(ask, seconds)
        except Exception as error:
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> SubmissionError:
        why = explained(_words(error))
        return SubmissionError(self.address, why.problem, why.remedy)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _bounded(ask: Callable[[], _T], seconds: float) -> _T:
    """Ray's client waits without a bound; a thread that nobody needs any more does not keep the process alive."""
    answers: SimpleQueue[tuple[_T | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            answers.put((ask(), None))
        except Exception as error:
            answers.put((None, error))

    threading.Thread(target=work, name="symfonic-ray job client", daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"it did not answer within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # None only where the question's answer is None
