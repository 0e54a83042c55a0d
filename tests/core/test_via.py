"""Names of containers: what tools accept passes, whatever a shell or an option parser could misread is refused."""

from __future__ import annotations

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.core.via import keeper_through, parse_via

HOSTILE_NAMES = [
    "",
    "-it",
    "--privileged",
    "-v/:/host",
    "a b",
    "a;id",
    "$(id)",
    "`id`",
    "a|id",
    "a&&id",
    "a>out",
    "a\nid",
    "a\0id",
    "'a'",
    '"a"',
    "../../etc",
    "a/../b",
    "~root",
    "*",
    "a:b",
    "żółw",
    "\x1b[31ma",
    "a" * 300,
    "{{.Name}}",
]


@pytest.mark.parametrize(
    "text",
    [
        "docker:sglang-prod",
        "docker:3f9b61c2d8e1",
        "docker:my_app.1",
        "podman:sglang",
        "kubectl:default/llm-0",
        "kubectl:ml-prod/sglang-7d9f5c5b4-x2x1p/server",
        "kubectl:kube-system/etcd.node",
    ],
)
def test_a_name_that_the_tools_accept(text: str) -> None:
    assert str(parse_via(text)) == text


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("form", ["docker:{}", "podman:{}", "kubectl:{}/pod", "kubectl:ns/{}", "kubectl:ns/pod/{}"])
def test_a_hostile_name_is_refused(form: str, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_via(form.format(name))
    assert "docker:NAME" in caught.value.next_step
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    "text", ["", "docker", "lxc:a", "Docker:a", "kubectl:pod", "kubectl:a/b/c/d", "docker:/a", "::"]
)
def test_what_names_no_container_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no container"):
        parse_via(text)


def test_a_pod_is_named_in_lower_case() -> None:
    with pytest.raises(UsageError, match="'Pod' can be no pod name"):
        parse_via("kubectl:ns/Pod")


@pytest.mark.parametrize(
    ("via", "by_hand"),
    [
        ("docker:prod", "docker inspect prod"),
        ("podman:prod", "podman inspect prod"),
        ("kubectl:ml/llm-0/server", "kubectl -n ml describe pod llm-0"),
    ],
)
def test_nothing_is_restarted_from_inside_a_container(via: str, by_hand: str) -> None:
    keeper = keeper_through(via)
    assert keeper is not None
    assert (keeper.restartable, keeper.detail, keeper.by_hand) == (False, via, by_hand)
    assert f"reached through {via}" in keeper.reason
    assert keeper_through(None) is None
