"""What a fleet file may not say although each of its values has the right form. Starts nothing, places nothing.

The checks of names and import strings read the raw data, so that they find what is wrong with one child even where
another child has the wrong form.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from symfonic_ray.config.findings import Findings, KeyPath
from symfonic_ray.config.form import FleetForm
from symfonic_ray.config.import_strings import ImportStringError, resolve
from symfonic_ray.delegation import ChildDeclarationError, ScopedChild


def check_names(data: dict[str, Any], findings: Findings) -> None:
    """Children are declared well, no name twice, and every name that is used is one of theirs."""
    known: dict[str, int] = {}
    for index, child in _children(data):
        name = child.get("name")
        if not isinstance(name, str):
            continue
        path = ("children", index, "name")
        if name in known:
            problem = f"{name!r} is the name of children[{known[name]}] already"
            findings.report(path, problem, "give each child its own name")
        known.setdefault(name, index)
        _check_declaration(child, index, findings)
    entry, parent = data.get("entry"), data.get("parent")
    if entry is not None and parent is not None:
        findings.report(("entry",), "is given beside parent", "keep one of the two: only one gets the question")
    elif isinstance(entry, str) and entry not in known and _all_named_well(data, findings):
        findings.report(("entry",), f"{entry!r} is no child of this fleet", _name_one_of(entry, list(known)))
    elif entry is None and parent is None:
        findings.report(("parent",), "is missing, and entry too", "add one of the two: it gets the question")
    for index, child in _children(data):
        _check_delegates(child, index, list(known), findings)


def check_imports(data: dict[str, Any], findings: Findings) -> None:
    """Every import string gives something that can be called. Imports the modules it names."""
    targets: list[tuple[KeyPath, Any]] = [(("parent",), data.get("parent"))]
    targets += [(("children", index, "build"), child.get("build")) for index, child in _children(data)]
    for path, text in targets:
        if isinstance(text, str) and not findings.blames(path):
            try:
                resolve(text)
            except ImportStringError as error:
                findings.report(path, f"{error.text!r} {error.problem}", error.remedy)


def check_limits(form: FleetForm, given: set[str], findings: Findings) -> None:
    """No two limits contradict each other; ``given`` are the keys of ``limits`` that stand in the file."""
    limits = form.limits
    if {"warm_hosts", "max_hosts"} <= given and limits.warm_hosts > limits.max_hosts:
        problem = f"is {limits.warm_hosts}, more than max_hosts, which is {limits.max_hosts}"
        findings.report(("limits", "warm_hosts"), problem, "lower it or raise max_hosts")
    if {"max_in_flight_per_scope", "max_in_flight"} <= given and limits.max_in_flight_per_scope > limits.max_in_flight:
        problem = f"is {limits.max_in_flight_per_scope}, more than max_in_flight, which is {limits.max_in_flight}"
        findings.report(("limits", "max_in_flight_per_scope"), problem, "lower it or raise max_in_flight")
    apart = [child.placement for child in form.children if child.placement.share == "child"]
    together = any(child.placement.share == "scope" for child in form.children)
    hosts = sum(placement.replica_range[0] for placement in apart if not placement.lazy) + together
    if hosts > limits.max_hosts:
        problem = f"is {limits.max_hosts}, but the children of one scope need {hosts} hosts"
        findings.report(("limits", "max_hosts"), problem, "raise it, or lower replicas, or share hosts")
    if form.entry is not None and form.max_depth == 0:
        findings.report(("max_depth",), "is 0, so the entry child would be refused", "give 1 or more, or name a parent")
    if form.entry is not None and form.run_limits.max_delegations == 0:
        problem = "is 0, so the entry child would be refused"
        findings.report(("run_limits", "max_delegations"), problem, "give 1 or more, or name a parent")


def _children(data: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    entries = data.get("children")
    for index, child in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(child, dict):
            yield index, child


def _all_named_well(data: dict[str, Any], findings: Findings) -> bool:
    """Whether the children's names can be relied on: a misspelt child is one problem, not two."""
    if findings.blames(("children",)):
        return False
    return not any(findings.blames(("children", index, "name")) for index, _ in _children(data))


def _check_declaration(child: dict[str, Any], index: int, findings: Findings) -> None:
    """The rules of a declaration are the delegation room's: it is asked, name first, then the rest."""
    name, description = child["name"], child.get("description")
    try:
        ScopedChild(name=name, description="described", build="package.module:build")
    except ChildDeclarationError as error:
        findings.report(("children", index, "name"), str(error), "give another name")
        return
    if isinstance(description, str):
        try:
            ScopedChild(name=name, description=description, build="package.module:build")
        except ChildDeclarationError as error:
            findings.report(("children", index, "description"), str(error), "say in a line what the child does")


def _check_delegates(child: dict[str, Any], index: int, known: list[str], findings: Findings) -> None:
    placement = child.get("placement")
    names = placement.get("delegates_to") if isinstance(placement, dict) else None
    for position, name in enumerate(names if isinstance(names, list) else []):
        if isinstance(name, str) and name not in known:
            path = ("children", index, "placement", "delegates_to", position)
            findings.report(path, f"{name!r} is no child of this fleet", _name_one_of(name, known))


def _name_one_of(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"name one of {', '.join(known) or 'the children you declare'}"
