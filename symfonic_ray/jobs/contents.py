"""What a working dir sends to a cluster: which files, how large, and what stays at home and why.

Reads names and sizes only. Knows no Ray; what is listed here is exactly what ``parcel`` packs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from symfonic_ray.jobs.errors import ParcelError

MEGABYTE = 1_000_000
MOST_FILE_BYTES = 20 * MEGABYTE  # code is not so large; data of this size belongs on storage that every node reaches
MOST_BYTES = 100 * MEGABYTE  # goes through the memory of the head; Ray itself refuses at some hundreds of MB
LARGEST = 5

_NEVER_SENT = {
    ".git": "version control",
    ".hg": "version control",
    ".svn": "version control",
    "__pycache__": "cache",
    ".mypy_cache": "cache",
    ".ruff_cache": "cache",
    ".pytest_cache": "cache",
    ".hypothesis": "cache",
    ".tox": "virtual environments",
    ".nox": "virtual environments",
    "node_modules": "installed packages",
    ".ipynb_checkpoints": "cache",
}
_IGNORE_FILES = (".gitignore", ".rayignore")  # the two that Ray's own packing honours
_SECRETS = GitIgnoreSpec.from_lines([".env", ".env.*", ".netrc", ".pypirc", "*.pem", "*.key", "id_rsa", "id_ed25519"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file that is sent."""

    name: str
    """Path below the working dir, with ``/``."""
    source: Path
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file or folder that stays at home."""

    name: str
    """Path below the working dir; a folder ends in ``/``."""
    why: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What is sent of one folder."""

    root: Path
    files: tuple[SentFile, ...]
    """In the order of their names."""
    left_out: tuple[LeftOut, ...]
    """Largest first."""

    @property
    def size_bytes(self) -> int:
        """Of all that is sent, before it is compressed."""
        return sum(file.size_bytes for file in self.files)

    def largest_folders(self) -> tuple[tuple[str, int], ...]:
        """Names and bytes of the largest folders at the top, at most five; ``./`` for the files beside them."""
        sizes: Counter[str] = Counter()
        for file in self.files:
            folder, slash, _ = file.name.partition("/")
            sizes[folder + "/" if slash else "./"] += file.size_bytes
        return tuple(sizes.most_common(LARGEST))

    def check(self, *, most_bytes: int = MOST_BYTES) -> None:
        """See that it may be uploaded.

        Raises:
            ParcelError: when it is over ``most_bytes``, with the largest folders and files.
        """
        if self.size_bytes <= most_bytes:
            return
        folders = ", ".join(f"{name} {megabytes(size)}" for name, size in self.largest_folders())
        ordered = sorted(self.files, key=lambda file: -file.size_bytes)[:LARGEST]
        files = ", ".join(f"{file.name} {megabytes(file.size_bytes)}" for file in ordered)
        raise ParcelError(
            f"working dir {self.root}",
            f"holds {megabytes(self.size_bytes)} to send, over the limit of {megabytes(most_bytes)}; largest folders: "
            f"{folders}; largest files: {files}",
            "name what the job does not need in .rayignore, and put data on storage that every node reaches",
        )


def contents_of(root: Path, *, most_file_bytes: int = MOST_FILE_BYTES) -> Contents:
    """Look through a working dir.

    Links to files are followed, links to folders are not. Version control, virtual environments, caches, files that
    hold secrets by their name, what ``.gitignore`` and ``.rayignore`` name, and files above ``most_file_bytes`` stay
    at home.

    Raises:
        ParcelError: where ``root`` is no folder.
    """
    if not root.is_dir():
        raise ParcelError(
            f"working dir {root}", "is no folder", "name the folder that holds actors/ and the fleet file"
        )
    files: list[SentFile] = []
    left: list[LeftOut] = []
    _look(root, "", (), most_file_bytes, files, left)
    files.sort(key=lambda file: file.name)
    left.sort(key=lambda entry: (-entry.size_bytes, entry.name))
    return Contents(root=root, files=tuple(files), left_out=tuple(left))


def megabytes(size_bytes: int) -> str:
    """A size for a person."""
    return f"{size_bytes / MEGABYTE:.1f} MB"


_Ignored = tuple[tuple[str, GitIgnoreSpec], ...]


def _look(
    folder: Path, prefix: str, ignored: _Ignored, most_file_bytes: int, files: list[SentFile], left: list[LeftOut]
) -> None:
    ignored = (*ignored, *((prefix, spec) for spec in _ignore_specs(folder)))
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        name = prefix + entry.name + ("/" if is_folder else "")
        path = Path(entry.path)
        why = _why_not(path, name, is_folder, ignored)
        if is_folder and not why:
            _look(path, name, ignored, most_file_bytes, files, left)
        elif is_folder:
            left.append(LeftOut(name=name, why=why, size_bytes=sum(_sizes(path))))
        elif path.is_file():
            size = path.stat().st_size
            if not why and size > most_file_bytes:
                why = f"over {megabytes(most_file_bytes)}"
            if why:
                left.append(LeftOut(name=name, why=why, size_bytes=size))
            else:
                files.append(SentFile(name=name, source=path, size_bytes=size))
        else:
            why = "a link to a folder" if path.is_dir() else "no readable file"
            left.append(LeftOut(name=name, why=why, size_bytes=0))


def _why_not(path: Path, name: str, is_folder: bool, ignored: _Ignored) -> str:
    """Why a file or folder stays at home; empty when it is sent."""
    if is_folder and (why := _NEVER_SENT.get(path.name)):
        return why
    if is_folder and (path / "pyvenv.cfg").is_file():
        return "virtual environment"
    if not is_folder and _SECRETS.match_file(path.name):
        return "may hold a secret"
    if any(spec.match_file(name.removeprefix(prefix)) for prefix, spec in ignored):
        return "named in .gitignore or .rayignore"
    return ""


def _ignore_specs(folder: Path) -> Iterator[GitIgnoreSpec]:
    for name in _IGNORE_FILES:
        path = folder / name
        if path.is_file():
            yield GitIgnoreSpec.from_lines(path.read_text(errors="replace").splitlines())


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink() and path.is_file():
                yield path.stat().st_size
