"""``symfonic-ray doctor``: each check on machines that are well and ill."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli import diagnosis, main
from symfonic_ray.cli.exit_codes import ExitCode
from tests.cluster.conftest import local_ray  # noqa: F401  # the fixture


@pytest.mark.parametrize(("running", "level"), [((3, 10), "fail"), ((3, 11), "ok"), ((3, 14), "ok"), ((4, 0), "ok")])
def test_an_old_python_fails(running: tuple[int, int], level: str) -> None:
    assert diagnosis.python_version(running).level == level


def test_a_package_is_measured_against_its_floor() -> None:
    assert diagnosis.installed_version("pytest").level == "ok"
    assert diagnosis.installed_version("pytest", (8, 3)).level == "ok"
    old = diagnosis.installed_version("pytest", (999,))
    assert (old.level, old.remedy) == ("fail", "pip install 'pytest>=999'")
    missing = diagnosis.installed_version("no-such-package")
    assert (missing.level, missing.words) == ("fail", "not installed")


def test_an_address_is_tried_and_a_missing_one_is_no_fault() -> None:
    def refuses(host: str, port: int) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    tried: list[tuple[str, int]] = []
    assert diagnosis.address(None, refuses).level == "ok"
    assert diagnosis.address("auto", refuses).level == "ok"
    assert diagnosis.address("ray://[::1]:10001", lambda host, port: tried.append((host, port))).level == "ok"
    assert tried == [("::1", 10001)]
    refused = diagnosis.address("10.0.0.5:6379", refuses)
    assert (refused.level, refused.words) == ("fail", "nothing answers at 10.0.0.5:6379 (Connection refused)")


@pytest.mark.parametrize("text", ["somewhere", "host:port", ":6379", "host:0", "host:70000"])
def test_an_address_without_host_and_port_fails_untried(text: str) -> None:
    def unreachable(host: str, port: int) -> None:
        raise AssertionError("tried")

    assert diagnosis.address(text, unreachable).level == "fail"


def test_a_token_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    token = tmp_path / ".ray" / "auth_token"
    assert diagnosis.authentication({}, tmp_path).level == "ok"
    token.parent.mkdir()
    token.write_text("secret")
    token.chmod(0o644)
    found = diagnosis.authentication({"RAY_AUTH_MODE": "token"}, tmp_path)
    assert (found.level, found.remedy) == ("warn", f"chmod 600 {token}")
    assert "secret" not in str(found)
    token.chmod(0o600)
    assert diagnosis.authentication({}, tmp_path).level == "ok"


def test_a_token_path_of_the_environment_is_looked_at(tmp_path: Path) -> None:
    token = tmp_path / "other"
    token.touch(0o644)
    assert diagnosis.authentication({"RAY_AUTH_TOKEN_PATH": str(token)}, Path("/nowhere")).level == "warn"


def test_authentication_that_is_off_is_warned_of(tmp_path: Path) -> None:
    assert diagnosis.authentication({"RAY_AUTH_MODE": "disabled"}, tmp_path).level == "warn"


def test_a_full_disk_is_warned_of(tmp_path: Path) -> None:
    assert diagnosis.room("disk", tmp_path, least_bytes=1).level == "ok"
    assert diagnosis.room("disk", tmp_path, least_bytes=2**62).level == "warn"
    assert diagnosis.room("disk", tmp_path, least_bytes=1, least_fraction=1.01).level == "warn"
    assert diagnosis.room("disk", tmp_path / "none", least_bytes=1).level == "ok"


def test_ray_processes_are_told_from_others_that_speak_of_ray() -> None:
    others = [(1, "vim raylet.txt"), (2, "python -c 'ray::x'"), (3, "/usr/bin/xray::y")]
    assert diagnosis.leftovers(iter(others)).level == "ok"
    found = diagnosis.leftovers(
        iter([*others, (9, "ray::ChildHost"), (8, "/x/ray/core/raylet --a"), (7, "gcs_server")])
    )
    assert found.level == "warn"
    assert "3 Ray processes of yours are running: 7 8 9" in found.words


@pytest.mark.parametrize(
    ("host", "level"),
    [("127.0.0.1", "ok"), ("127.0.1.1", "ok"), ("localhost", "ok"), ("::1", "ok"), ("0.0.0.0", "warn"), ("::", "warn")],
)
def test_a_dashboard_that_others_can_reach_is_told(host: str, level: str) -> None:
    command = f"/v/bin/python /v/ray/dashboard/dashboard.py --host={host} --port=8265 --temp-dir=/tmp/ray"
    found = diagnosis.dashboard_address(iter([(3, "ray::A"), (4, command)]))
    assert (found.level, bool(found.remedy)) == (level, level == "warn")
    assert host in found.words


def test_without_a_dashboard_there_is_nothing_to_reach() -> None:
    assert (
        diagnosis.dashboard_address(iter([(3, "vim dashboard.py --host=0.0.0.0")])).words == "none of yours is running"
    )


def test_own_processes_are_listed_with_their_command_lines() -> None:
    listed = dict(diagnosis.own_processes())
    assert sys.executable.rpartition("/")[2][:6] in listed[os.getpid()]


def test_a_line_gives_level_check_words_and_remedy() -> None:
    finding = diagnosis.DoctorFinding(check="disk", level="warn", words="full", remedy="make room")
    assert str(finding) == "warn  disk: full; make room"


def test_the_command_prints_a_line_for_each_check(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == ExitCode.DELIVERED
    lines = capfd.readouterr().out.splitlines()
    assert [line[6:].partition(":")[0] for line in lines] == [
        "python",
        "ray",
        "numpy",
        "pydantic",
        "auth",
        "shared memory",
        "disk",
        "leftovers",
        "dashboard",
        "address",
    ]


def test_a_failed_check_is_exit_code_1_also_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        began_at = time.monotonic()
        assert main(["doctor", "--json", "--address", f"127.0.0.1:{unused.getsockname()[1]}"]) == ExitCode.FAILED
    told = json.loads(capfd.readouterr().out)
    assert (told["schema_version"], told["outcome"]) == (1, "fail")
    assert [finding["check"] for finding in told["findings"] if finding["level"] == "fail"] == ["address"]
    assert time.monotonic() - began_at < diagnosis.REACH_SECONDS + 1


def test_the_doctor_imports_no_ray() -> None:
    code = "import sys; from symfonic_ray.cli import main; main(['doctor', '--json']); print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "False"


def test_actors_that_outlive_their_makers_are_named_with_what_to_do() -> None:
    assert diagnosis.cluster(lambda: {"detached": []}).level == "ok"
    left = {"name": "old\x1b[31m", "namespace": "team", "class": "Cache"}
    found = diagnosis.cluster(lambda: {"detached": [left] * 7})
    assert (found.level, "7 detached actors" in found.words, "..." in found.words) == ("warn", True, True)
    assert "\x1b" not in str(found)
    assert "ray.kill" in found.remedy


def test_a_cluster_that_lets_nobody_in_says_why() -> None:
    def late() -> dict[str, object]:
        raise TimeoutError("no answer within 30 seconds")

    assert diagnosis.cluster(late).level == "fail"
    words = "RuntimeError: Version mismatch: The cluster was started with: Ray: 2.50.0 Python: 3.12.1"
    found = diagnosis.cluster(lambda: {"error": words})
    assert (found.level, "2.50.0" in found.words) == ("fail", True)
    assert len(str(found).splitlines()) == 1


async def test_a_detached_actor_on_a_real_cluster_is_found(local_ray: None) -> None:  # noqa: F811
    import ray

    class Cache:
        def name(self) -> str:
            return "cache"

    remote: Any = ray.remote(Cache)
    actor = remote.options(name="left-behind", namespace="team", lifetime="detached", num_cpus=0).remote()
    assert await actor.name.remote() == "cache"
    try:
        address = ray.get_runtime_context().gcs_address
        finding = diagnosis.cluster(lambda: diagnosis.look_at_cluster(address))
        assert finding.level == "warn", finding
        assert "left-behind (" in finding.words
        assert "Cache, namespace team)" in finding.words
    finally:
        ray.kill(actor)
