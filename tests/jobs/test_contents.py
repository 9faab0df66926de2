"""What a working dir sends, and what it refuses to."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from symfonic_ray.jobs import ParcelError, contents_of, parcel_of


def large(path: Path, megabytes: int) -> None:
    """A file of that size that takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(megabytes * 1_000_000)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("actors/__init__.py", "actors/reader.py", "configs/fleet.yaml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    return root


def test_version_control_and_environments_stay_at_home_and_a_large_file_is_named(project: Path) -> None:
    large(project / ".git/objects/pack", 100)
    large(project / ".venv/lib/x.so", 50)
    (project / ".venv/pyvenv.cfg").write_text("home = /usr")
    large(project / "data/all.bin", 60)
    contents = contents_of(project)
    assert [file.name for file in contents.files] == ["actors/__init__.py", "actors/reader.py", "configs/fleet.yaml"]
    assert [(left.name, left.why) for left in contents.left_out] == [
        (".git/", "version control"),
        ("data/all.bin", "over 20.0 MB"),
        (".venv/", "virtual environment"),
    ]
    assert [left.size_bytes // 1_000_000 for left in contents.left_out] == [100, 60, 50]


def test_a_working_dir_over_the_limit_is_refused_with_the_names_of_the_largest(project: Path) -> None:
    for number in range(6):
        large(project / f"data/part{number}.bin", 19)
    with pytest.raises(ParcelError) as refused:
        contents_of(project).check()
    assert "114.0 MB" in str(refused.value)
    assert "data/ 114.0 MB" in str(refused.value)
    assert "data/part0.bin 19.0 MB" in str(refused.value)
    contents_of(project).check(most_bytes=115_000_000)


@pytest.mark.parametrize("file", [".gitignore", ".rayignore", "notes/.gitignore"])
def test_what_an_ignore_file_names_stays_at_home(project: Path, file: str) -> None:
    (project / "notes").mkdir()
    (project / "notes/a.log").write_text("x")
    (project / "notes/a.txt").write_text("x")
    (project / file).write_text("*.log\n")
    names = [sent.name for sent in contents_of(project).files]
    assert "notes/a.txt" in names
    assert "notes/a.log" not in names


@pytest.mark.parametrize("name", [".env", ".env.local", "id_rsa", "server.pem", "configs/tls.key"])
def test_a_file_that_holds_a_secret_by_its_name_stays_at_home(project: Path, name: str) -> None:
    (project / name).write_text("x")
    assert [left.name for left in contents_of(project).left_out] == [name]


def test_a_link_to_a_folder_is_not_followed_and_is_named(project: Path) -> None:
    (project / "loop").symlink_to(project)
    assert [(left.name, left.why) for left in contents_of(project).left_out] == [("loop", "a link to a folder")]


def test_the_parcel_holds_what_the_plan_lists_and_this_package(project: Path, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('"a"\n')
    parcel = parcel_of(project, tasks=tasks)
    parcel.write(tmp_path / "parcel.zip")
    with zipfile.ZipFile(tmp_path / "parcel.zip") as packed:
        names = packed.namelist()
        assert packed.read(".symfonic-ray-tasks.jsonl") == b'"a"\n'
        assert packed.read("actors/reader.py") == b"# actors/reader.py\n"
    assert names == [file.name for file in parcel.files]
    assert "symfonic_ray/__init__.py" in names


def test_the_same_contents_make_the_same_bytes(project: Path, tmp_path: Path) -> None:
    parcel_of(project, tasks=None).write(tmp_path / "first.zip")
    (project / "actors/reader.py").touch()
    parcel_of(project, tasks=None).write(tmp_path / "second.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_a_working_dir_that_holds_the_package_sends_its_own(project: Path) -> None:
    (project / "symfonic_ray").mkdir()
    (project / "symfonic_ray/__init__.py").write_text("")
    assert parcel_of(project, tasks=None).package == ()


def test_a_path_that_the_job_needs_is_refused_when_it_is_outside_or_stays_at_home(
    project: Path, tmp_path: Path
) -> None:
    large(project / "data/all.bin", 60)
    parcel = parcel_of(project, tasks=None)
    assert parcel.name_of("fleet file", project / "configs/fleet.yaml") == "configs/fleet.yaml"
    assert parcel.name_of("input", project) == "."
    with pytest.raises(ParcelError, match="is not in the working dir"):
        parcel.name_of("fleet file", tmp_path / "other.yaml")
    with pytest.raises(ParcelError, match=r"is not sent: data/all\.bin \(over 20\.0 MB, 60\.0 MB\)"):
        parcel.name_of("input", project / "data/all.bin")
