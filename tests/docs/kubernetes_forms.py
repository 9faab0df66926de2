# ruff: noqa: N815  # the names are those of Kubernetes
"""The parts of KubeRay's ``ray.io/v1`` (1.7) and of Kubernetes that the examples use, as forms.

Each refuses every key that it does not name: a misspelt one is an error here, where a cluster might leave it out in
silence. They also hold what we ask of an example: pinned images, no root, a token, no secret written out.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-[\w.]+)?")

Image = Annotated[str, Field(pattern=rf"^{PINNED.pattern}$")]
Quantity = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(m|Ki|Mi|Gi)?$")]
Labels = dict[str, str]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Metadata(Form):
    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    namespace: str


class Amounts(Form):
    cpu: Quantity
    memory: Quantity


class Resources(Form):
    requests: Amounts
    limits: Amounts


class KeyOfSecret(Form):
    name: str
    key: str
    optional: bool = False


class FromSecret(Form):
    secretKeyRef: KeyOfSecret


class Variable(Form):
    name: str
    valueFrom: FromSecret


class Drop(Form):
    drop: tuple[Literal["ALL"]]


class ContainerSecurity(Form):
    allowPrivilegeEscalation: Literal[False]
    capabilities: Drop


class Port(Form):
    containerPort: int
    name: str


class Container(Form):
    name: str
    image: Image
    imagePullPolicy: Literal["IfNotPresent", "Always"]
    securityContext: ContainerSecurity
    resources: Resources
    ports: list[Port] = []
    env: list[Variable] = []


class Seccomp(Form):
    type: Literal["RuntimeDefault"]


class PodSecurity(Form):
    runAsNonRoot: Literal[True]
    runAsUser: Annotated[int, Field(ge=1)]
    runAsGroup: int
    fsGroup: int
    seccompProfile: Seccomp


class PodSpec(Form):
    restartPolicy: Literal["Never"] | None = None
    automountServiceAccountToken: Literal[False]
    securityContext: PodSecurity
    containers: Annotated[list[Container], Field(min_length=1)]


class PodMetadata(Form):
    labels: Labels


class PodTemplate(Form):
    metadata: PodMetadata
    spec: PodSpec


class Head(Form):
    rayStartParams: dict[str, str]
    template: PodTemplate


class Workers(Form):
    groupName: str
    replicas: int
    minReplicas: int
    maxReplicas: int
    rayStartParams: dict[str, str]
    template: PodTemplate


class Auth(Form):
    mode: Literal["token"]
    secretName: str


class ClusterSpec(Form):
    rayVersion: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    authOptions: Auth
    headGroupSpec: Head
    workerGroupSpecs: list[Workers]


class RayCluster(Form):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    metadata: Metadata
    spec: ClusterSpec


class JobSpec(Form):
    entrypoint: Annotated[str, Field(min_length=1)]
    submissionMode: Literal["SidecarMode"]
    shutdownAfterJobFinishes: Literal[True]
    ttlSecondsAfterFinished: Annotated[int, Field(ge=0)]
    activeDeadlineSeconds: Annotated[int, Field(gt=0)]
    backoffLimit: Literal[0]
    rayClusterSpec: ClusterSpec


class RayJob(Form):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayJob"]
    metadata: Metadata
    spec: JobSpec


class Selector(Form):
    matchLabels: Labels


class Block(Form):
    cidr: str
    except_: Annotated[list[str], Field(alias="except")] = []


class Peer(Form):
    podSelector: Selector | None = None
    namespaceSelector: Selector | None = None
    ipBlock: Block | None = None


class PolicyPort(Form):
    port: int
    protocol: Literal["TCP", "UDP"]


class Ingress(Form):
    from_: Annotated[list[Peer], Field(alias="from", min_length=1)]
    ports: list[PolicyPort] = []


class Egress(Form):
    to: Annotated[list[Peer], Field(min_length=1)]
    ports: list[PolicyPort] = []


class PolicySpec(Form):
    podSelector: Selector
    policyTypes: tuple[Literal["Ingress"], Literal["Egress"]]
    ingress: list[Ingress]
    egress: list[Egress]


class NetworkPolicy(Form):
    apiVersion: Literal["networking.k8s.io/v1"]
    kind: Literal["NetworkPolicy"]
    metadata: Metadata
    spec: PolicySpec
