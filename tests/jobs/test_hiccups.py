"""A cluster that stumbles: a small server speaks as Ray's dashboard does, since a real one stumbles only by chance."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import ray

from symfonic_ray.jobs import SubmissionError
from symfonic_ray.jobs.client import JobCluster

NO_AGENT = (500, "No available agent to submit job, please try again later.")
EXISTS = (500, "Job with submission_id j already exists.")
TAKEN = (200, json.dumps({"job_id": "j", "submission_id": "j"}))


class Dashboard:
    """What it is asked, and what it answers to submissions in their order, the last for ever."""

    def __init__(self, *answers: tuple[int, str], status: str = "RUNNING") -> None:
        self.answers = list(answers)
        self.status = status
        self.submissions = 0
        self.stops = 0
        self.address = ""

    def answer(self, method: str, path: str) -> tuple[int, str]:
        """Status and body."""
        if path == "/api/version":
            return 200, json.dumps({"version": "4", "ray_version": ray.__version__})
        if path.startswith("/api/packages/"):
            return 200, "{}"
        if path.endswith("/stop"):
            self.stops += 1
            return 200, json.dumps({"stopped": True})
        if method == "POST":
            self.submissions += 1
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        told = {"type": "SUBMISSION", "submission_id": "j", "status": self.status, "entrypoint": "x"}
        return 200, json.dumps(told | {"message": "Job is waiting for resources (CPUs)"})


@contextmanager
def served(dashboard: Dashboard) -> Iterator[Dashboard]:
    """A dashboard that listens on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def _tell(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, body = dashboard.answer(self.command, self.path)
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_PUT = _tell  # noqa: N815  # the names are http.server's

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    dashboard.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield dashboard
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


@pytest.fixture
def parcel(tmp_path: Path) -> Path:

    path = tmp_path / "parcel.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("actors/__init__.py", "")
    return path


def hand_over(cluster: JobCluster, parcel: Path) -> None:
    cluster.submit(entrypoint="x", submission_id="j", runtime_env={"env_vars": {}}, parcel=parcel)


def test_an_agent_that_is_not_there_yet_is_asked_once_more(parcel: Path) -> None:
    with served(Dashboard(NO_AGENT, TAKEN)) as dashboard:
        pauses: list[float] = []
        hand_over(JobCluster(dashboard.address, pause=pauses.append), parcel)
    assert dashboard.submissions == 2
    assert len(pauses) == 1


def test_an_agent_that_never_comes_is_explained_after_the_second_time(parcel: Path) -> None:
    with served(Dashboard(NO_AGENT)) as dashboard:
        cluster = JobCluster(dashboard.address, pause=lambda seconds: None)
        with pytest.raises(SubmissionError, match=r"no job agent yet.*--dashboard-agent-listen-port"):
            hand_over(cluster, parcel)
    assert dashboard.submissions == 2


def test_a_job_whose_first_try_did_arrive_is_not_refused_for_its_id(parcel: Path) -> None:
    with served(Dashboard((503, "a gateway gave up"), EXISTS)) as dashboard:
        hand_over(JobCluster(dashboard.address, pause=lambda seconds: None), parcel)
    assert dashboard.submissions == 2


def test_an_id_that_is_taken_is_refused_at_the_first_try(parcel: Path) -> None:
    with served(Dashboard(EXISTS)) as dashboard:
        cluster = JobCluster(dashboard.address, pause=lambda seconds: None)
        with pytest.raises(SubmissionError, match="give another --submission-id"):
            hand_over(cluster, parcel)
    assert dashboard.submissions == 1


def test_a_job_that_would_wait_for_ever_is_stopped_and_explained() -> None:
    with served(Dashboard(TAKEN, status="PENDING")) as dashboard:
        cluster = JobCluster(dashboard.address)
        with pytest.raises(SubmissionError, match=r"waiting for resources \(CPUs\); see 'ray status' there"):
            cluster.started("j", seconds=0.1, runtime_env=False)
    assert dashboard.stops == 1


def test_an_address_in_the_environment_does_not_lead_elsewhere(monkeypatch: pytest.MonkeyPatch, parcel: Path) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:1")
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "http://127.0.0.1:1")
    with served(Dashboard(TAKEN)) as dashboard:
        hand_over(JobCluster(dashboard.address), parcel)
    assert dashboard.submissions == 1
