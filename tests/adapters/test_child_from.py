"""Which agents are recognised, and what is said of those that are not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from symfonic_ray.adapters.child_from import KINDS, child_from
from symfonic_ray.adapters.foreign_error import ForeignAgentError


class Ours:
    async def run(self, task: str) -> str:
        return task


class Quiet:
    """Has nothing that could be run."""


def test_an_agent_with_a_run_of_its_own_is_given_back_as_it_is() -> None:
    ours = Ours()
    assert child_from(ours) is ours


@pytest.mark.parametrize(
    ("agent", "words"),
    [(Quiet(), "is of no known kind; give an instance of one of"), (Ours, "Ours is a class"), (None, "NoneType")],
    ids=["an object without run", "a class", "nothing"],
)
def test_what_is_no_agent_is_refused_with_the_kinds_there_are(agent: Any, words: str) -> None:
    with pytest.raises(ForeignAgentError, match=words) as refused:
        child_from(agent)
    assert all(kind in str(refused.value) for kind in KINDS)


def test_an_unknown_kind_and_an_option_of_another_kind_are_refused() -> None:
    with pytest.raises(ForeignAgentError, match="was given the kind 'crew'; give one of"):
        child_from(str.upper, kind="crew")
    with pytest.raises(ForeignAgentError, match="unexpected keyword argument 'to_input'"):
        child_from(str.upper, to_input=str)
    with pytest.raises(ForeignAgentError, match="takes no to_input; it has a run of its own"):
        child_from(Ours(), to_input=str)


def test_recognising_an_agent_imports_no_framework() -> None:
    code = (
        "import sys; from symfonic_ray.adapters.child_from import child_from; child_from(lambda task: task); "
        "roots = {name.split('.')[0] for name in sys.modules}; "
        "found = roots & {'langchain_core', 'langgraph', 'agents', 'pydantic_ai', 'symfonic', 'a2a', 'mcp', 'ray'}; "
        "sys.exit(', '.join(found) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
