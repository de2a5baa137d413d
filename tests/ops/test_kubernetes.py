"""The Kubernetes manifests fit the service, its image and each other."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from ktsafe.stream.config import settings
from ktsafe.stream.monitoring.monitoring import PROBES
from tests.ops.tools import ROOT

FOLDER = ROOT / "ops/kubernetes"
CONTAINERFILE = (ROOT / "ops/Containerfile").read_text(encoding="utf-8")
LOADED = settings.load(FOLDER / "ktsafe.toml").config


def manifest(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


POD = manifest("statefulset.yaml")["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
MOUNTS = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}


def test_kustomization_lists_every_manifest() -> None:
    """No file lies beside the set, none is missing."""
    listed = manifest("kustomization.yaml")
    assert set(listed["resources"]) == {p.name for p in FOLDER.glob("*.yaml")} - {
        "kustomization.yaml"
    }
    assert listed["configMapGenerator"][0]["files"] == ["ktsafe.toml"]


def test_there_is_one_pod_that_may_nothing() -> None:
    """One replica, no privilege, no token of the cluster, a root file system that stays."""
    assert manifest("statefulset.yaml")["spec"]["replicas"] == 1
    assert POD["automountServiceAccountToken"] is False
    context = CONTAINER["securityContext"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_user_is_the_one_of_the_image() -> None:
    """Volumes belong to the user that the image was made for."""
    user = re.search(r"useradd --uid (\d+)", CONTAINERFILE)
    assert user is not None
    context = POD["securityContext"]
    assert {context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")} == {int(user[1])}


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_ask_for_what_needs_no_token(probe: str) -> None:
    """Kubelet knows no token; life is asked for by /healthz, so that a stuck loop is restarted."""
    asked = CONTAINER[probe]["httpGet"]
    assert asked["path"] in PROBES
    assert (asked["path"] == "/healthz") is (probe == "livenessProbe")
    (port,) = CONTAINER["ports"]
    assert (asked["port"], port["containerPort"]) == (port["name"], LOADED.metrics.port)


def test_what_the_service_writes_is_mounted() -> None:
    """State and kernels are on volumes that outlive the pod, where image and settings say."""
    claimed = {
        claim["metadata"]["name"]
        for claim in manifest("statefulset.yaml")["spec"]["volumeClaimTemplates"]
    }
    assert claimed == {"state", "kernels"}
    assert LOADED.state.folder.startswith(MOUNTS["state"] + "/")
    assert f"NUMBA_CACHE_DIR={MOUNTS['kernels']}" in CONTAINERFILE
    assert CONTAINER["args"] == ["run", f"{MOUNTS['configuration']}/ktsafe.toml"]
    declared = {volume["name"] for volume in POD["volumes"]} | claimed
    assert set(MOUNTS) == declared


def test_beyond_the_pod_a_token_is_needed() -> None:
    """The service listens to the cluster, so it asks for a token, from a private file."""
    assert LOADED.metrics.host == "0.0.0.0"  # noqa: S104 -- in its pod
    assert LOADED.metrics.token_file == f"{MOUNTS['token']}/token"
    (secret,) = [volume["secret"] for volume in POD["volumes"] if "secret" in volume]
    assert secret["defaultMode"] & 0o007 == 0
    policy = manifest("networkpolicy.yaml")["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    assert len(policy["ingress"]) == 1
    assert manifest("service.yaml")["spec"]["clusterIP"] == "None"


def test_kubectl_builds_the_set() -> None:
    """Kustomize accepts the set, and gives every object the namespace and the label."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is missing; the manifests were checked as YAML")
    done = subprocess.run(
        [kubectl, "kustomize", str(FOLDER)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    assert {o["kind"] for o in objects} == {"ConfigMap", "NetworkPolicy", "Service", "StatefulSet"}
    for found in objects:
        assert found["metadata"]["namespace"] == "ktsafe"
        assert found["metadata"]["labels"]["app.kubernetes.io/name"] == "ktsafe"
