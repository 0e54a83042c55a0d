"""The small languages that the keepers' tools understand: templates, paths, patches."""

from __future__ import annotations

import pytest

from specdoctor.lab.shims.go_template import TemplateError, fill
from specdoctor.lab.shims.json_patch import PatchFault, json_patch, merge_patch, strategic_patch
from specdoctor.lab.shims.jsonpath import filled
from specdoctor.lab.slurm_jobs import node_list

BOX = {"Name": "/a", "Config": {"Env": ["X=1", "Y=2"], "Labels": {"com.x": "y"}}, "Up": True, "None": None}
POD = {"spec": {"containers": [{"name": "s", "args": ["a"], "env": [{"name": "X", "value": "1"}]}]}}


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("{{.Name}} {{.Up}}", "/a true"),
        ("{{json .Config.Env}}", '["X=1","Y=2"]'),
        ("{{range .Config.Env}}{{println .}}{{end}}", "X=1\nY=2\n"),
        ('{{index .Config.Labels "com.x"}}', "y"),
        ("{{if .Up}}up{{else}}down{{end}}", "up"),
        ("{{if .None}}up{{else}}down{{end}}", "down"),
        ("{{len .Config.Env}}\\t{{.Config.Env}}", "2\t[X=1 Y=2]"),
        ('{{join .Config.Env ","}}', "X=1,Y=2"),
        ("{{.Config.Labels}}", "map[com.x:y]"),
    ],
)
def test_templates(form: str, text: str) -> None:
    assert fill(form, BOX) == text


@pytest.mark.parametrize("form", ["{{.Name", "{{.Nothing}}", "{{foo .Name}}", "{{end}}"])
def test_bad_templates_are_refused(form: str) -> None:
    with pytest.raises(TemplateError, match="template: :1"):
        fill(form, BOX)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("{.spec.containers[0].name}", "s"),
        ("{.spec.containers[*].args}", '["a"]'),
        ('{.spec.containers[0].env[0].value}{"\\n"}', "1\n"),
        ("{.nothing}", ""),
    ],
)
def test_paths(form: str, text: str) -> None:
    assert filled(form, POD) == text


def test_a_json_patch_replaces_adds_and_removes() -> None:
    patch = [
        {"op": "test", "path": "/spec/containers/0/name", "value": "s"},
        {"op": "replace", "path": "/spec/containers/0/args", "value": ["b"]},
        {"op": "add", "path": "/spec/containers/0/args/-", "value": "c"},
        {"op": "remove", "path": "/spec/containers/0/env"},
    ]
    assert json_patch(POD, patch)["spec"]["containers"] == [{"name": "s", "args": ["b", "c"]}]
    with pytest.raises(PatchFault, match="rejected"):
        json_patch(POD, [{"op": "replace", "path": "/spec/nothing/0", "value": 1}])


def test_a_strategic_patch_merges_containers_by_name_and_a_merge_patch_does_not() -> None:
    patch = {"spec": {"containers": [{"name": "s", "args": ["b"]}]}}
    kept = strategic_patch(POD, patch)["spec"]["containers"][0]
    assert (kept["args"], kept["env"]) == (["b"], [{"name": "X", "value": "1"}])
    assert merge_patch(POD, patch)["spec"]["containers"] == [{"name": "s", "args": ["b"]}]


@pytest.mark.parametrize(
    ("names", "text"),
    [(["a1"], "a1"), (["n01", "n02", "n03"], "n[01-03]"), (["n1", "n3"], "n[1,3]"), (["a1", "b2"], "a1,b2")],
)
def test_lists_of_nodes(names: list[str], text: str) -> None:
    assert node_list(names) == text
