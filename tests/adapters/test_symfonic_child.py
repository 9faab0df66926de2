"""symfonic-core agents as children, with the real library and a stub of the provider."""

from __future__ import annotations

import warnings

import pytest

from symfonic_ray.adapters.child_from import child_from
from tests.adapters.stub_server import StubServer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the library warns of itself
    from symfonic.agent import SymfonicAgent
    from symfonic.core.providers import OpenAIProvider


@pytest.mark.filterwarnings("ignore")
async def test_an_agent_answers_in_its_scope_and_is_closed(stub: StubServer) -> None:
    child = child_from(SymfonicAgent(model_provider=OpenAIProvider(base_url=stub.base_url)))
    try:
        said = await child.run("say hello", scope="acme", run_id="r1")
    finally:
        await child.flush_background_tasks()
        await child.aclose()
    assert said.final_response == "hello"
    assert stub.requests[0]["messages"][-1]["content"] == "say hello"
