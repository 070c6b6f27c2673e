"""Evals on several machines: the Job of Kubernetes read by its schema, and its commands run as its pods run them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from command_line import ROOT, codenav

DATA = ROOT / "tests" / "data"
FAST = "--any-commit --set checks.lint=no --set checks.types=no --sandbox bubblewrap"
ANSWER = """
<action><type>code</type><content>import time; time.sleep(0.3); answer = 1</content></action>
<action><type>done</type><content>1</content></action>
"""
SHARDS, MERGE = yaml.safe_load_all((ROOT / "deploy" / "eval-job.yaml").read_text())


def schema() -> dict[str, Any]:
    """The JSON schema of the objects in `kubernetes-job.yaml`."""
    kinds = yaml.safe_load((DATA / "schemas" / "kubernetes-job.yaml").read_text())

    def of(text: str) -> dict[str, Any]:
        if text[0] == "[":
            return {"type": "array", "minItems": 1, "items": of(text[1:-1])}
        if text[0] == "{":
            return {"type": "object", "additionalProperties": of(text[1:-1])}
        if text in kinds and text != "Job":
            return {"$ref": f"#/$defs/{text}"}
        known = ("string", "integer", "boolean", "object")
        return {"type": text} if text in known else {"enum": text.split("|")}

    made = {
        kind: {
            "type": "object",
            "additionalProperties": False,
            "required": [name[:-1] for name in fields if name.endswith("!")],
            "properties": {name.rstrip("!"): of(text) for name, text in fields.items()},
        }
        for kind, fields in kinds.items()
    }
    return {**made["Job"], "$defs": made}


VALIDATOR = jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("job", [SHARDS, MERGE], ids=["shards", "merge"])
def test_the_jobs_are_jobs_of_kubernetes(job: dict[str, Any]) -> None:
    VALIDATOR.validate(job)
    pod = job["spec"]["template"]["spec"]
    [container], volumes = pod["containers"], {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    rules = job["spec"].get("podFailurePolicy", {"rules": []})["rules"]
    assert all(rule.get("onExitCodes", {"containerName": "shard"})["containerName"] == "shard" for rule in rules)


def test_an_indexed_job_has_an_index_for_each_shard() -> None:
    spec = SHARDS["spec"]
    shards = next(one["value"] for one in container(SHARDS)["env"] if one["name"] == "SHARDS")
    assert spec["completionMode"] == "Indexed" and str(spec["completions"]) == shards
    # The API takes a limit for each index only of pods that are never restarted in place.
    assert spec["backoffLimitPerIndex"] and spec["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize(
    "change", [{"completion": 3}, {"completions": "3"}, {"completionMode": "indexed"}, {"template": {"spec": {}}}]
)
def test_the_schema_refuses_what_kubernetes_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**SHARDS, "spec": {**SHARDS["spec"], **change}})


def container(job: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]["spec"]["containers"][0]
    return found


class Cluster:
    """What Kubernetes does with the Job, on this machine: a pod is a process with the variables of its container."""

    def __init__(self, folder: Path, shards: int) -> None:
        (folder / "one.actions").write_text(ANSWER)
        shutil.copytree(DATA / "evals" / "m3tooleval", folder / "code-act")
        self.folder = folder
        self.own = {"SHARDS": str(shards), "OPTIONS": FAST, "CODENAV_MODEL": f"scripted:{folder / 'one.actions'}"}
        self.own |= {"CODENAV_BASE_URL": ""}

    def pod(self, job: Mapping[str, Any], index: int = 0) -> subprocess.Popen[str]:
        """Start the container of a pod."""
        made = container(job)
        given = {one["name"]: one.get("value", "key") for one in made["env"]}
        mounted = {name: value.replace("/shared", str(self.folder)) for name, value in given.items()}
        place = {"CODENAV_HOME": str(self.folder / f"home-{index}"), "JOB_COMPLETION_INDEX": str(index)}
        [script] = made["args"]
        return subprocess.Popen(
            [*made["command"], script],
            env={**os.environ, **mounted, **self.own, **place, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip


def ended(pod: subprocess.Popen[str]) -> str:
    out, _ = pod.communicate(timeout=240)
    assert pod.returncode == 0, out
    return out


def figures(run: Path) -> list[Any]:
    """The results of a run, without the times and ids of their episodes."""
    lines = map(json.loads, (run / "results.jsonl").read_text().splitlines())
    return [[line[key] for key in ("id", "epoch", "status", "answer", "program", "scores", "steps")] for line in lines]


def test_shards_as_pods_of_which_one_is_killed_give_the_run_of_one_machine(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, shards=3)
    pods = [cluster.pod(SHARDS, index) for index in range(3)]
    whole = tmp_path / "whole"
    single = ["--data", tmp_path / "code-act", "--model", cluster.own["CODENAV_MODEL"], *FAST.split()]
    killed, first = pods[0], tmp_path / "runs" / "m3-1" / "results.jsonl"
    end = time.monotonic() + 120
    while not (first.exists() and first.read_text().count("\n")):
        assert time.monotonic() < end and killed.poll() is None
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    before = first.read_text()
    # Kubernetes replaces the pod: the same command, the same index.
    pods[0] = cluster.pod(SHARDS, 0)
    for pod in pods:
        ended(pod)
    assert first.read_text().startswith(before) and first.read_text().count("\n") > before.count("\n")
    assert "m3tooleval" in ended(cluster.pod(MERGE))
    ran = codenav("eval", "run", "m3tooleval", *single, "--out", whole, within=240)
    assert ran.code == 0, ran.err
    assert sorted(figures(tmp_path / "runs" / "m3")) == sorted(figures(whole))


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_shards_on_ray_give_the_run_of_one_machine(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, shards=2)
    command = [sys.executable, str(ROOT / "examples" / "ray_eval.py"), "2", "runs/m3", "m3tooleval", *FAST.split()]
    command += ["--data", str(tmp_path / "code-act"), "--model", cluster.own["CODENAV_MODEL"]]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stderr
    assert {line[0] for line in figures(tmp_path / "runs" / "m3")} == {
        line[0] for number in (1, 2) for line in figures(tmp_path / "runs" / f"m3-{number}")
    }
