"""A fleet as its file declares it: checked whole, ready to be composed. Starts nothing, connects to nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.config.checks import check_imports, check_limits, check_names
from symfonic_ray.config.document import read_document
from symfonic_ray.config.factories import MODEL, bound, check_options, given_to
from symfonic_ray.config.form import FleetForm
from symfonic_ray.config.form_faults import report_faults
from symfonic_ray.config.import_strings import make_importable, project_root
from symfonic_ray.delegation import ScopedChild


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetConfig:
    """What a fleet file says."""

    file: Path
    """The file, as it was named."""
    project_root: Path
    """The folder that import strings start from."""
    name: str
    """Of the fleet."""
    parent: str | None
    """Import string of the agent that gets the question; None where a child gets it."""
    entry: str | None
    """The child that gets the question; None where a parent gets it."""
    max_depth: int
    """How deep a run may hand work on."""
    children: tuple[ScopedChild, ...]
    """In the order of the file."""
    placements: Mapping[str, Placement]
    """By child name; one for every child."""
    limits: PoolLimits
    """Of the pool."""
    run_limits: RunLimits
    """Of one tree of runs."""
    parent_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the parent's factory gets besides the scope, its model with it; may hold secrets. Any: JSON values."""
    models: tuple[str, ...] = ()
    """Names of the language models that factories are given, each once."""


def load_fleet(file: Path, *, environment: Mapping[str, str] | None = None, model: str | None = None) -> FleetConfig:
    """Read and check a fleet file.

    The modules that its import strings name are imported, from the nearest folder above the file that holds
    ``actors/`` (else the current folder), which is put on this process's import path.

    Args:
        file: path of the YAML file.
        environment: where ``${NAME}`` is looked up; this process's environment when None.
        model: takes the place of the file's own ``model``.
    Raises:
        ConfigError: with every problem that was found.
    """
    document = read_document(file, os.environ if environment is None else environment)
    data, findings = document.data, document.findings
    root = project_root(file, Path.cwd())
    form: FleetForm | None = None
    try:
        form = FleetForm.model_validate_json(json.dumps(data))  # from JSON: strict, yet a list may be a tuple
    except ValidationError as error:
        report_faults(error, data, findings)
    if isinstance(data, dict):
        check_names(data, findings)
        make_importable(root)
        check_imports(data, findings)
        check_options(data, model or (form.model if form is not None else None), findings)
    if form is not None:
        check_limits(form, set(data.get("limits", ())), findings)
    findings.raise_if_any()
    assert form is not None  # else report_faults has reported
    chosen = model or form.model
    parent_options = given_to(form.parent, form.parent_options, chosen) if form.parent else {}
    options = [given_to(child.build, child.options, chosen) for child in form.children]
    models = [given[MODEL] for given in (parent_options, *options) if isinstance(given.get(MODEL), str)]
    return FleetConfig(
        file=file,
        project_root=root,
        name=form.name,
        parent=form.parent,
        entry=form.entry,
        max_depth=form.max_depth,
        children=tuple(
            ScopedChild(
                name=child.name,
                description=child.description,
                when_to_use=child.when_to_use,
                build=bound(child.build, given),
            )
            for child, given in zip(form.children, options, strict=True)
        ),
        placements=MappingProxyType({child.name: child.placement for child in form.children}),
        limits=form.limits,
        run_limits=form.run_limits,
        parent_options=MappingProxyType(parent_options),
        models=tuple(dict.fromkeys(models)),
    )
