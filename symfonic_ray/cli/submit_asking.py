"""Questions about a job that was submitted before: how it stands, what it wrote, and that it end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.streams import Results, results, say

if TYPE_CHECKING:
    from symfonic_ray.jobs.client import JobCluster


def tell_status(job: str, address: str, *, as_json: bool) -> ExitCode:
    """Print how a job stands; the exit code says only whether that could be learnt."""

    def work(cluster: JobCluster, out: Results) -> ExitCode:
        _tell_ending(cluster, job, out, as_json=as_json)
        return ExitCode.DELIVERED

    return _with_cluster(address, work)


def tell_log(job: str, address: str, *, until_ended: bool) -> ExitCode:
    """Print a job's log."""

    def work(cluster: JobCluster, out: Results) -> ExitCode:
        if until_ended:
            from symfonic_ray.cli.submit_following import follow

            follow(cluster, job, out.text)
        else:
            out.text(cluster.log(job).removesuffix("\n"))
        return ExitCode.DELIVERED

    return _with_cluster(address, work)


def stop_job(job: str, address: str, *, as_json: bool) -> ExitCode:
    """End a job and wait until it has ended."""

    def work(cluster: JobCluster, out: Results) -> ExitCode:
        from symfonic_ray.cli.submit_following import wait_until_ended

        if cluster.stop(job):
            say(f"{job} is asked to end; it has 60 seconds to close what it opened ...")
        else:
            say(f"{job} does not run any more")
        if not wait_until_ended(cluster, job).ended:
            say(f"{job} has not ended yet; ask again with: symfonic-ray submit status {job} --address {address}")
            return ExitCode.FAILED
        _tell_ending(cluster, job, out, as_json=as_json)
        return ExitCode.DELIVERED

    return _with_cluster(address, work)


def save_results(job: str, address: str, output: Path) -> ExitCode:
    """Write a job's results to a new file."""
    if output.exists():
        say(f"--output {output}: is there already; name another file, or remove it")
        return ExitCode.USAGE

    def work(cluster: JobCluster, out: Results) -> ExitCode:
        from symfonic_ray.cli.submit_following import ending_of, fetch_results

        state = cluster.state(job)
        if fetch_results(cluster, state, ending_of(cluster, state), output):
            return ExitCode.DELIVERED
        say(f"{job} is {state.status} and has no results to fetch: only --tasks makes them, and only once it has ended")
        return ExitCode.FAILED

    return _with_cluster(address, work)


def _tell_ending(cluster: JobCluster, job: str, out: Results, *, as_json: bool) -> None:
    from symfonic_ray.cli.submit_following import ending_of

    ending = ending_of(cluster, cluster.state(job))
    if as_json:
        out.object(ending)
        return
    told = [str(ending[name]) for name in ("outcome", "message") if ending.get(name)]
    out.text(f"{job} {ending['status']}" + (f": {': '.join(told)}" if told else ""))


def _with_cluster(address: str, work: Callable[[JobCluster, Results], ExitCode]) -> ExitCode:
    from symfonic_ray.jobs import ParcelError, SubmissionError
    from symfonic_ray.jobs.client import JobCluster

    with results() as out:
        try:
            return work(JobCluster(address), out)
        except ParcelError as error:
            say(str(error))
            return ExitCode.USAGE
        except SubmissionError as error:
            say(str(error))
            return ExitCode.UNREACHABLE
        except KeyboardInterrupt:
            say("interrupted; the job goes on")
            return ExitCode.CANCELLED
