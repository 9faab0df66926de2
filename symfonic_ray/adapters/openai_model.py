"""``openai:NAME``: a model of OpenAI, or of any server that speaks its API. Keys come from the environment alone."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from symfonic_ray.adapters.chat_completions import ChatCompletions
from symfonic_ray.adapters.errors import MissingKeyError, MissingLibraryError
from symfonic_ray.kernel.rate_limits import RATE_LIMITS, rate_key, retry_after
from symfonic_ray.kernel.redaction import REDACTED, redacted

KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"
TIMEOUT_SECONDS = 60.0  # a long answer that is not streamed takes most of a minute to its first byte
MAX_RETRIES = 4  # with the package's back-off of 0.5 to 8 seconds: about 8 seconds of trying
TOO_MANY = 429
_NO_KEY = "none-needed"  # the client insists on one; servers of one's own do not


class OpenAIModel(ChatCompletions):
    """A ``ChatModel`` behind the OpenAI API.

    Args:
        model_name: what the provider calls it, such as ``gpt-5-mini``.
        base_url: where the API is; ``OPENAI_BASE_URL`` by default, else OpenAI itself.
        options: more fields of each request, such as ``temperature``. Any: JSON data of the provider's own.
        timeout_seconds: the longest silence of the server.
        max_retries: how often a request that was refused for now is made again.
    Raises:
        MissingLibraryError: without the openai package.
        MissingKeyError: with neither ``OPENAI_API_KEY`` nor a base URL.
    """

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str | None = None,
        options: Mapping[str, Any] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        connection = EnvironmentConnection(
            f"openai:{model_name}", base_url, timeout_seconds=timeout_seconds, max_retries=max_retries
        )
        super().__init__(model_name, connection, options=options)


class EnvironmentConnection:
    """A client whose key, and whose base URL unless one is given, come from the environment when it is first used."""

    def __init__(self, model: str, base_url: str | None, *, timeout_seconds: float, max_retries: int) -> None:
        require_openai(model)
        self.timeout_seconds = timeout_seconds
        self._model = model
        self._base_url = base_url
        self._max_retries = max_retries
        self._client: Any = None  # Any: the library is optional
        self._rate_key = ""
        self._key()

    async def client(self) -> Any:
        """The client, made on first use."""
        if self._client is None:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            self._rate_key = rate_key(self._base_url or os.environ.get(BASE_URL) or "", self._key())
            self._client = AsyncOpenAI(
                api_key=self._key(),
                base_url=self._base_url or os.environ.get(BASE_URL),
                timeout=self.timeout_seconds,
                max_retries=self._max_retries,
                http_client=DefaultAsyncHttpxClient(event_hooks={"request": [self._wait], "response": [self._heard]}),
            )
        return self._client

    async def _wait(self, request: Any) -> None:
        """Before every request, the package's own retries too: not while the account is refused."""
        await RATE_LIMITS.wait(self._rate_key)

    async def _heard(self, response: Any) -> None:
        if response.status_code == TOO_MANY:
            seconds = retry_after(response.headers.get("Retry-After"), now=time.time())
            RATE_LIMITS.report(self._rate_key, seconds)

    def redacted(self, text: str) -> str:
        """``text`` without the key, which some servers repeat when they refuse it."""
        return text if self._client is None else redacted(text, {self._client.api_key: REDACTED})

    async def aclose(self) -> None:
        """Close the client; the next use makes another."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _key(self) -> str:
        key = os.environ.get(KEY) or (_NO_KEY if self._base_url or os.environ.get(BASE_URL) else "")
        if not key:
            raise MissingKeyError(self._model, KEY)
        return key


def require_openai(model: str, extra: str = "openai") -> None:
    """Make sure that the openai package is there.

    Raises:
        MissingLibraryError: when it is not; says which extra brings it.
    """
    try:
        import openai  # noqa: F401 - the import is the question
    except ImportError as error:
        raise MissingLibraryError(model, "openai", f"pip install 'symfonic-ray[{extra}]'") from error
