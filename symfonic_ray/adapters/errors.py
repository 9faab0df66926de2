"""What can go wrong with a model, in words that hold no key and no request.

ModelError
+-- UnknownModelError (ValueError)       a model's name that stands for none
+-- NotImportableError (ValueError)      an import string that gives nothing
+-- MissingLibraryError (ImportError)    a library that the model needs is not installed
+-- MissingKeyError                      no key in the environment
+-- ModelRequestError                    the provider refused the request
|   +-- ModelBusyError                   it still refused after the retries: too many requests, or a fault of its own
+-- ModelUnreachableError (ConnectionError)
+-- BrokenReplyError                     an answer that is cut short or makes no sense; nothing of it was used
+-- LocalModelError                      the local model's server did not start
"""

from __future__ import annotations


class ModelError(Exception):
    """Anything that a model of ours has to say no to."""


class UnknownModelError(ModelError, ValueError):
    """A model's name that stands for none."""

    def __init__(self, name: str, problem: str, remedy: str) -> None:
        super().__init__(name, problem, remedy)
        self.name, self.problem, self.remedy = name, problem, remedy

    def __str__(self) -> str:
        return f"the model {self.name[:200]!r} {self.problem}; {self.remedy}"


class NotImportableError(ModelError, ValueError):
    """An import string that gives nothing."""

    def __init__(self, text: str, problem: str, remedy: str) -> None:
        super().__init__(text, problem, remedy)
        self.text, self.problem, self.remedy = text, problem, remedy

    def __str__(self) -> str:
        return f"{self.text[:200]!r} {self.problem}; {self.remedy}"


class MissingLibraryError(ModelError, ImportError):
    """A library that a model needs is not installed."""

    def __init__(self, model: str, library: str, command: str) -> None:
        super().__init__(model, library, command)
        self.model, self.library, self.command = model, library, command

    def __str__(self) -> str:
        return f"the model {self.model!r} needs {self.library}, which is not installed; run: {self.command}"


class MissingKeyError(ModelError):
    """The environment holds no key for a provider."""

    def __init__(self, model: str, variable: str) -> None:
        super().__init__(model, variable)
        self.model, self.variable = model, variable

    def __str__(self) -> str:
        return (
            f"the model {self.model!r} needs a key; set {self.variable} in the environment, or OPENAI_BASE_URL for a "
            "server that wants none"
        )


class ModelRequestError(ModelError):
    """The provider refused a request."""

    def __init__(self, model: str, status: int, words: str) -> None:
        super().__init__(model, status, words)
        self.model, self.status, self.words = model, status, words

    def __str__(self) -> str:
        return f"the model {self.model!r} refused the request with status {self.status}: {self.words}"


class ModelBusyError(ModelRequestError):
    """The provider still refused after every retry that was allowed."""

    def __str__(self) -> str:
        return f"the model {self.model!r} is busy or out of order (status {self.status}), try later: {self.words}"


class ModelUnreachableError(ModelError, ConnectionError):
    """No answer came from the provider."""

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model, self.problem = model, problem

    def __str__(self) -> str:
        return f"the model {self.model!r} {self.problem}; check OPENAI_BASE_URL and the network"


class BrokenReplyError(ModelError):
    """An answer that is cut short or makes no sense."""

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model, self.problem = model, problem

    def __str__(self) -> str:
        return f"the answer of model {self.model!r} {self.problem}; nothing of it was used, ask again"


class LocalModelError(ModelError):
    """The local model's server did not start."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        return f"the local model {self.problem}; {self.remedy}"
