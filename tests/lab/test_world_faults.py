"""A world file that is wrong: each fault with line, column and key, and never a failure of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.lab.world import World, WorldError


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"like: healthy\nname: a\nhostt: {}\n",
            'a.yaml:3:1  hostt  unknown key "hostt"; did you mean "host"?',
        ),
        (b"like: healthy\nhost:\n  cpuss: 3\n", 'a.yaml:3:3  host.cpuss  unknown key "cpuss"; did you mean "cpus"?'),
        (b"like: healthy\nseed: many\n", 'a.yaml:2:1  seed  must be a whole number, got "many"'),
        (b"name: a\nhost: [\n", "(syntax)"),
        (b"name: a\n\xff\xfe\n", "a.yaml:2:1  (syntax)  this is no UTF-8 text"),
        (b"", "a world is a mapping"),
        (b"- 1\n", "a world is a mapping"),
    ],
)
def test_each_fault_is_told_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    with pytest.raises(WorldError) as failure:
        World.from_yaml(path)
    assert said in failure.value.message
    assert failure.value.next_step


@pytest.mark.parametrize(("name", "said"), [("healty", 'did you mean "healthy"?'), ("nosuch", "no world 'nosuch'")])
def test_an_unknown_name_is_no_path(name: str, said: str) -> None:
    with pytest.raises(WorldError) as failure:
        World.from_yaml(name)
    assert said in failure.value.message
    assert "specdoctor lab list" in failure.value.next_step
