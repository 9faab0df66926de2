"""The deployment examples, read offline: fields that the real kinds have, nothing unpinned, no secret, no root."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import BaseModel, ValidationError

from tests.docs.conftest import ROOT
from tests.docs.kubernetes_forms import PINNED, NetworkPolicy, PodTemplate, RayCluster, RayJob

DEPLOY = ROOT / "docs" / "deploy"
EXAMPLES = sorted(path for path in DEPLOY.iterdir() if path.name != "index.md")


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def read(form: type[BaseModel], name: str) -> Any:  # Any: the form that was asked for
    return form.model_validate_json(json.dumps(yaml.safe_load(text(name))))


def cluster() -> RayCluster:
    found: RayCluster = read(RayCluster, "raycluster.yaml")
    return found


def job() -> RayJob:
    found: RayJob = read(RayJob, "rayjob.yaml")
    return found


def templates() -> list[PodTemplate]:
    specs = [cluster().spec, job().spec.rayClusterSpec]
    heads = [spec.headGroupSpec.template for spec in specs]
    return heads + [workers.template for spec in specs for workers in spec.workerGroupSpecs]


def test_every_example_has_the_fields_of_its_kind_and_no_other() -> None:
    assert cluster().metadata.namespace == job().metadata.namespace == "agents"
    assert read(NetworkPolicy, "networkpolicy.yaml").metadata.namespace == "agents"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("symfonic-ray:0.1.0", "symfonic-ray:latest"),
        ("symfonic-ray:0.1.0", "symfonic-ray"),
        ("runAsNonRoot: true", "runAsNonRoot: false"),
        ("mode: token", "mode: disabled"),
        ("secretName: symfonic-ray-token", "secret: symfonic-ray-token"),
        ("headGroupSpec:", "headGroup:"),
        ("valueFrom:\n                  secretKeyRef: {name: model-keys, key: openai, optional: true}", "value: sk-1"),
    ],
)
def test_a_cluster_that_is_unpinned_open_or_misspelt_would_be_found(old: str, new: str) -> None:
    changed = text("raycluster.yaml").replace(old, new)
    assert changed != text("raycluster.yaml")
    with pytest.raises(ValidationError):
        RayCluster.model_validate_json(json.dumps(yaml.safe_load(changed)))


def test_every_pod_carries_the_label_that_the_policy_selects() -> None:
    policy: NetworkPolicy = read(NetworkPolicy, "networkpolicy.yaml")
    wanted = policy.spec.podSelector.matchLabels.items()
    assert templates()
    assert all(wanted <= template.metadata.labels.items() for template in templates())


def test_the_policy_lets_nobody_in_but_ray_s_own_pods_and_the_operator() -> None:
    policy: NetworkPolicy = read(NetworkPolicy, "networkpolicy.yaml")
    own, operator = policy.spec.ingress
    assert [peer.podSelector for peer in own.from_] == [policy.spec.podSelector]
    assert [(peer.ipBlock, peer.podSelector is not None) for peer in operator.from_] == [(None, True)]
    assert [port.port for port in operator.ports] == [8265]


def test_the_head_of_a_job_in_sidecar_mode_is_never_restarted() -> None:
    assert job().spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy == "Never"


def test_the_job_s_command_is_one_that_we_have() -> None:
    words = job().spec.entrypoint.split()
    assert words[words.index("symfonic-ray") + 1 :][:2] == ["run", "configs/readers.yaml"]
    assert (ROOT / "configs/readers.yaml").exists()


def test_the_versions_of_ray_and_of_the_image_agree_everywhere() -> None:
    from symfonic_ray import __version__

    docker = text("Dockerfile")
    ray_version = cluster().spec.rayVersion
    assert job().spec.rayClusterSpec.rayVersion == ray_version
    assert f"FROM rayproject/ray:{ray_version}-py311\n" in docker
    assert f'"ray[default]=={ray_version}"' in docker
    assert docker.count(f"symfonic_ray-{__version__}-py3-none-any.whl") == 2
    images = {container.image for template in templates() for container in template.spec.containers}
    assert images == {yaml.safe_load(text("cluster-launcher.yaml"))["docker"]["image"]}
    assert images == {f"REGISTRY/symfonic-ray:{__version__}"}


def test_the_dockerfile_ends_as_a_user_without_rights_and_holds_pinned_names_only() -> None:
    lines = [line for line in text("Dockerfile").splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if line.startswith("USER")] == ["USER 1000"]
    assert all(PINNED.fullmatch(line.split()[1]) for line in lines if line.startswith("FROM"))


def test_the_launcher_file_fits_the_schema_that_ray_ships() -> None:
    schema = json.loads((files("ray.autoscaler") / "ray-schema.json").read_text(encoding="utf-8"))
    launcher = yaml.safe_load(text("cluster-launcher.yaml"))
    jsonschema.validate(launcher, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(launcher | {"head_start_command": []}, schema)


def test_the_launcher_s_ray_asks_for_a_token_and_shows_its_dashboard_to_the_machine_alone() -> None:
    launcher = yaml.safe_load(text("cluster-launcher.yaml"))
    starts = [*launcher["head_start_ray_commands"], *launcher["worker_start_ray_commands"]]
    started = [command for command in starts if "ray start" in command]
    assert len(started) == 2
    assert all(command.startswith("RAY_AUTH_MODE=token ") for command in started)
    assert "--dashboard-host=127.0.0.1" in started[0]
    assert {"--user 1000:100", "--memory 8g"} <= set(launcher["docker"]["run_options"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_says_that_it_was_not_applied_and_holds_no_secret(example: Any) -> None:
    words = example.read_text(encoding="utf-8")
    assert words.startswith("# NOT APPLIED")
    assert not re.search(r"sk-\w{8}|auth_token:\s*[\"']?\w{16}|password|stringData|kind: Secret", words)


def test_the_page_names_every_example() -> None:
    page = text("index.md")
    assert "None of them was applied to a cluster here" in page
    assert not [path.name for path in EXAMPLES if f"]({path.name})" not in page]
