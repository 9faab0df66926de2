"""What can go wrong between a request and a job that runs.

ParcelError       what would be sent cannot be, or must not be; nothing was uploaded
SubmissionError   the cluster did not take the job, or does not start it
"""

from __future__ import annotations


class ParcelError(ValueError):
    """What would be sent with a job is wrong, said before anything is uploaded."""

    def __init__(self, asked: str, problem: str, remedy: str) -> None:
        super().__init__(asked, problem, remedy)
        self.asked, self.problem, self.remedy = asked, problem, remedy

    def __str__(self) -> str:
        return f"{self.asked}: {self.problem}; {self.remedy}"


class SubmissionError(ConnectionError):
    """The cluster did not take a job, answer about it or start it."""

    def __init__(self, address: str, problem: str, remedy: str) -> None:
        super().__init__(address, problem, remedy)
        self.address, self.problem, self.remedy = address, problem, remedy

    def __str__(self) -> str:
        return f"{self.address}: {self.problem}; {self.remedy}"
