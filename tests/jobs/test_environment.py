"""How a job's environment is merged, and what never enters it."""

from __future__ import annotations

import json

import pytest

from symfonic_ray.jobs import ParcelError, runtime_env_of


def test_a_variable_is_laid_over_and_the_others_stay() -> None:
    made = runtime_env_of(
        env_json='{"DB": "y"}', runtime_env_json='{"env_vars": {"DB": "x", "LOG": "1"}, "pip": ["a"]}', secrets=()
    )
    assert made == {"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "60", "DB": "y", "LOG": "1"}, "pip": ["a"]}


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GITHUB_TOKEN", "db_password", "SECRET", "AWS_CREDENTIALS"])
@pytest.mark.parametrize("option", ["env_json", "runtime_env_json"])
def test_a_value_that_looks_like_a_secret_is_refused_and_not_repeated(name: str, option: str) -> None:
    given: dict[str, str | None] = {"env_json": None, "runtime_env_json": None}
    variables = {name: "hunter2"}
    given[option] = json.dumps(variables if option == "env_json" else {"env_vars": variables})
    with pytest.raises(ParcelError) as refused:
        runtime_env_of(env_json=given["env_json"], runtime_env_json=given["runtime_env_json"], secrets=())
    assert f"--secret-env {name}" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM"])
def test_a_name_that_only_contains_such_a_word_is_no_secret(name: str) -> None:
    env_vars = runtime_env_of(env_json=json.dumps({name: "1"}), runtime_env_json=None, secrets=())["env_vars"]
    assert env_vars[name] == "1"


@pytest.mark.parametrize(
    ("env_json", "runtime_env_json", "secrets", "words"),
    [
        ("{", None, (), "is no JSON: it breaks at line 1, column 2"),
        ("[1]", None, (), "is a JSON list"),
        ('{"A": 1}', None, (), "--env-json A: is of type int; put the value in quotes"),
        ('{"A B": "1"}', None, (), "'A B' is no name of a variable"),
        (None, '{"working_dir": "."}', (), "--working-dir gives it"),
        (None, '{"env_vars": []}', (), "is no object"),
        (None, None, ("API=hunter2",), "is no name of a variable"),
        ('{"A": "1"}', None, ("A",), "is given with a value too"),
    ],
)
def test_what_is_no_environment_is_refused(
    env_json: str | None, runtime_env_json: str | None, secrets: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ParcelError) as refused:
        runtime_env_of(env_json=env_json, runtime_env_json=runtime_env_json, secrets=secrets)
    assert words in str(refused.value)
    assert "hunter2" not in str(refused.value)
