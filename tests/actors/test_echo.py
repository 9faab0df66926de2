"""The child for tests and benchmarks."""

from __future__ import annotations

import time

import pytest

from actors import echo


@pytest.mark.parametrize("task", ["hello", "", "{not json", "[1]", '{"other": 1}', "é\n天"])
async def test_an_echo_answers_its_task_unchanged(task: str) -> None:
    assert (await echo.build("acme").run(task)).final_response == task


async def test_an_echo_pauses_and_answers_the_text_it_is_given() -> None:
    started = time.perf_counter()
    answer = await echo.build("acme").run('{"sleep": 0.05, "text": "later"}')
    assert answer.final_response == "later"
    assert time.perf_counter() - started >= 0.05
