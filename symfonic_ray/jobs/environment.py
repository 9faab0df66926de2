"""The environment of a job: how what the user gives is merged, and what may not be in it.

A value in a job's environment appears in clear in Ray's own records and logs, and anybody who reaches the dashboard
reads it. So secrets are named here, never given: their values have to be on the cluster's side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from symfonic_ray.jobs.errors import ParcelError
from symfonic_ray.kernel.redaction import names_a_secret

STOP_SECONDS = 60  # Ray's own is 3: too short to let running children end and to write the results
_STOP = "RAY_JOB_STOP_WAIT_TIME_S"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OURS = {"working_dir": "--working-dir gives it", "excludes": "a file .rayignore names what stays at home"}


def runtime_env_of(*, env_json: str | None, runtime_env_json: str | None, secrets: Sequence[str]) -> dict[str, Any]:
    """The runtime environment of a job, without its working dir.

    ``env_json`` is laid over the ``env_vars`` of ``runtime_env_json``, name by name; Ray lays what a child's placement
    says over that in the same way.

    Args:
        env_json: an object of strings.
        runtime_env_json: an object as ``ray.init(runtime_env=...)`` takes it.
        secrets: names that the job needs from the cluster's own environment.
    Raises:
        ParcelError: for what is no such object, and for a value whose name says that it is a secret. No message holds
            a value.
    """
    runtime_env = dict(_object("--runtime-env-json", runtime_env_json))
    for name, why in _OURS.items():
        if name in runtime_env:
            raise ParcelError("--runtime-env-json", f"holds {name}", f"leave it out: {why}")
    merged = {_STOP: str(STOP_SECONDS)}
    merged |= _variables("--runtime-env-json env_vars", runtime_env.get("env_vars", {}))
    merged |= _variables("--env-json", _object("--env-json", env_json))
    for name in secrets:
        if not _NAME.match(name):
            raise ParcelError(
                "--secret-env", "is no name of a variable", "give the name alone; the value stays where it is"
            )
        if name in merged:
            raise ParcelError(f"--secret-env {name}", "is given with a value too", "leave the value out")
    return runtime_env | {"env_vars": merged}


def _object(option: str, text: str | None) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        place = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
        raise ParcelError(option, f"is no JSON: it breaks at {place}", 'write it like \'{"NAME": "value"}\'') from None
    if not isinstance(value, dict):
        raise ParcelError(option, f"is a JSON {type(value).__name__}", "give an object")
    return value


def _variables(option: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ParcelError(option, "is no object", 'write it like \'{"NAME": "value"}\'')
    for name, text in value.items():
        if not _NAME.match(name):
            raise ParcelError(option, f"{name!r} is no name of a variable", "use letters, digits and _")
        if not isinstance(text, str):
            raise ParcelError(f"{option} {name}", f"is of type {type(text).__name__}", "put the value in quotes")
        if names_a_secret(name):
            raise ParcelError(
                f"{option} {name}",
                "looks like a secret, and Ray keeps a job's variables in clear",
                f"set it where the cluster runs and give --secret-env {name}",
            )
    return value
