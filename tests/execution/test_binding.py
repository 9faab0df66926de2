"""Binding: by structure, with a reason for each way it may end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.execution import BindingResult, SchemaBinder

TOOLS = ["search", "fetch"]


class RecordingModel:
    """Binds whatever it is asked to; raises ``refusal`` at a forced choice and ``fault`` always."""

    def __init__(self, *, refusal: Exception | None = None, fault: Exception | None = None) -> None:
        self.refusal = refusal
        self.fault = fault
        self.asked: list[tuple[list[Any], dict[str, Any]]] = []

    def bind_tools(self, tools: list[Any], **options: Any) -> Any:
        self.asked.append((tools, options))
        if self.refusal is not None and "tool_choice" in options:
            raise self.refusal
        if self.fault is not None:
            raise self.fault
        return SimpleNamespace(bound_from=self)


class PlainModel:
    """Its ``bind_tools`` takes no options at all."""

    def bind_tools(self, tools: list[Any]) -> Any:
        return SimpleNamespace(bound_from=self)


def summary(result: BindingResult) -> tuple[bool, str, Any, bool]:
    return result.bound, result.reason, result.forced_choice, result.degraded


def test_tools_are_bound_by_whatever_has_bind_tools() -> None:
    model = RecordingModel()
    result = SchemaBinder().bind(model, iter(TOOLS))  # type: ignore[arg-type]  # any iterable will do
    assert summary(result) == (True, "bound", None, False)
    assert (result.model.bound_from, result.notes) == (model, ())
    assert model.asked == [(TOOLS, {})]


def test_a_forced_choice_is_passed_on_and_reported() -> None:
    model = RecordingModel()
    result = SchemaBinder().bind(model, TOOLS, tool_choice="search")
    assert summary(result) == (True, "bound", "search", False)
    assert model.asked == [(TOOLS, {"tool_choice": "search"})]


@pytest.mark.parametrize(
    "model",
    [
        PlainModel(),
        RecordingModel(refusal=TypeError("no choice")),
        RecordingModel(refusal=ValueError("no choice")),
        RecordingModel(refusal=NotImplementedError("no choice")),
    ],
    ids=["takes no options", "type error", "value error", "not implemented"],
)
def test_a_refused_choice_is_bound_without_it_and_says_so(model: Any) -> None:
    result = SchemaBinder().bind(model, TOOLS, tool_choice="search")
    assert summary(result) == (True, "forced_choice_refused", None, True)
    assert result.model.bound_from is model
    assert len(result.notes) == 1
    assert "'search' was refused" in result.notes[0]


def test_no_tools_leave_the_model_as_it_is_and_unasked() -> None:
    model = RecordingModel()
    result = SchemaBinder().bind(model, [], tool_choice="search")
    assert summary(result) == (False, "no_tools", None, False)
    assert (result.model, model.asked) == (model, [])


@pytest.mark.parametrize(
    "model", [SimpleNamespace(), SimpleNamespace(bind_tools=None), object()], ids=["bare", "none", "object"]
)
def test_a_model_without_bind_tools_is_handed_back(model: Any) -> None:
    result = SchemaBinder().bind(model, TOOLS)
    assert summary(result) == (False, "no_bind_tools", None, False)
    assert result.model is model


@pytest.mark.parametrize("choice", [None, "search"])
def test_a_model_that_does_not_implement_binding_is_handed_back(choice: Any) -> None:
    model = RecordingModel(fault=NotImplementedError("later"))
    result = SchemaBinder().bind(model, TOOLS, tool_choice=choice)
    assert summary(result) == (False, "not_implemented", None, False)
    assert result.model is model
    assert "NotImplementedError: later" in result.notes[-1]


@pytest.mark.parametrize("error", [TypeError("bad tool"), ValueError("bad tool"), RuntimeError("bad tool")])
def test_any_fault_that_is_no_refusal_propagates(error: Exception) -> None:
    with pytest.raises(type(error), match="bad tool"):
        SchemaBinder().bind(RecordingModel(fault=error), TOOLS)


@pytest.mark.parametrize("error", [RuntimeError("quota"), KeyError("quota")])
def test_a_fault_at_a_forced_choice_that_is_no_refusal_propagates(error: Exception) -> None:
    with pytest.raises(type(error), match="quota"):
        SchemaBinder().bind(RecordingModel(refusal=error), TOOLS, tool_choice="search")


def test_the_cache_is_annotated_on_the_bound_model() -> None:
    asked: list[Any] = []
    result = SchemaBinder(annotate_cache=lambda bound, ttl: asked.append((bound, ttl))).bind(
        RecordingModel(), TOOLS, cache_ttl="5m"
    )
    assert asked == [(result.model, "5m")]
    assert summary(result) == (True, "bound", None, False)


def test_a_model_that_the_annotation_returns_takes_the_bound_one_s_place() -> None:
    result = SchemaBinder(annotate_cache=lambda bound, ttl: ("cached", ttl)).bind(RecordingModel(), TOOLS)
    assert result.model == ("cached", None)


def test_an_annotation_that_raises_is_a_note() -> None:
    def annotate(bound: Any, ttl: Any) -> None:
        raise LookupError("no cache here")

    model = RecordingModel(refusal=TypeError("no choice"))
    result = SchemaBinder(annotate_cache=annotate).bind(model, TOOLS, tool_choice="search", cache_ttl=60)
    assert summary(result) == (True, "forced_choice_refused", None, True)
    assert result.model.bound_from is model
    assert "LookupError: no cache here" in result.notes[1]


def test_nothing_is_annotated_where_nothing_was_bound() -> None:
    asked: list[Any] = []
    SchemaBinder(annotate_cache=lambda bound, ttl: asked.append(bound)).bind(object(), TOOLS)
    assert asked == []


def test_the_binder_s_hook_is_keyword_only() -> None:
    with pytest.raises(TypeError):
        SchemaBinder(lambda bound, ttl: None)  # type: ignore[call-arg]  # the point of the test
