"""Many tasks of a file to one child: read, handed over, written, and taken up again after a kill."""

from symfonic_ray.bulk.job import BulkJob, BulkTerms
from symfonic_ray.bulk.result import BulkResult, record_result
from symfonic_ray.bulk.results_file import ResultsFile, results_problem
from symfonic_ray.bulk.resuming import Resumption, job_identity, job_tag, resumption, settled_results
from symfonic_ray.bulk.tally import BulkSummary, Tally
from symfonic_ray.bulk.tasks import BulkTask, TaskFile, TaskSurvey

__all__ = [
    "BulkJob",
    "BulkResult",
    "BulkSummary",
    "BulkTask",
    "BulkTerms",
    "ResultsFile",
    "Resumption",
    "Tally",
    "TaskFile",
    "TaskSurvey",
    "job_identity",
    "job_tag",
    "record_result",
    "results_problem",
    "resumption",
    "settled_results",
]
