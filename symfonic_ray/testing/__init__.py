"""Documented fakes for tests of code that delegates: no cluster, no model, no network."""

from symfonic_ray.testing.failing_runner import FailingRunner
from symfonic_ray.testing.fake_fleet import FakeFleet
from symfonic_ray.testing.plain_inheritance import PlainInheritance
from symfonic_ray.testing.recording_builder import RecordingBuilder
from symfonic_ray.testing.recording_runner import RecordingRunner, RunnerCall
from symfonic_ray.testing.recording_snapshots import RecordingSnapshots
from symfonic_ray.testing.scripted_model import ScriptedModel, ScriptedReply, asking

__all__ = [
    "FailingRunner",
    "FakeFleet",
    "PlainInheritance",
    "RecordingBuilder",
    "RecordingRunner",
    "RecordingSnapshots",
    "RunnerCall",
    "ScriptedModel",
    "ScriptedReply",
    "asking",
]
