"""Jobs: a fleet's work sent to a Ray cluster that runs elsewhere. Decides what travels, what is said of it and when to
give up; what the job does there is the command's own."""

from symfonic_ray.jobs.contents import Contents, LeftOut, SentFile, contents_of, megabytes
from symfonic_ray.jobs.environment import runtime_env_of
from symfonic_ray.jobs.errors import ParcelError, SubmissionError
from symfonic_ray.jobs.outcome import outcome_in, outcome_line
from symfonic_ray.jobs.parcel import TASKS_NAME, Parcel, parcel_of

__all__ = [
    "TASKS_NAME",
    "Contents",
    "LeftOut",
    "Parcel",
    "ParcelError",
    "SentFile",
    "SubmissionError",
    "contents_of",
    "megabytes",
    "outcome_in",
    "outcome_line",
    "parcel_of",
    "runtime_env_of",
]
