"""The one file that a job's working dir travels in: a zip of what ``contents`` lists, and nothing else.

Decides what is added to it: the file of tasks, and this package, so that the job runs the version that submits it.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import symfonic_ray
from symfonic_ray.jobs.contents import MOST_BYTES, Contents, LeftOut, SentFile, contents_of, megabytes
from symfonic_ray.jobs.errors import ParcelError

TASKS_NAME = ".symfonic-ray-tasks.jsonl"
PACKAGE = "symfonic_ray"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same contents give the same bytes, which Ray then uploads once


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What is sent with a job."""

    contents: Contents
    """Of the working dir."""
    package: tuple[SentFile, ...]
    """This package; empty where the working dir holds it itself."""
    tasks: SentFile | None

    @property
    def files(self) -> tuple[SentFile, ...]:
        """All that is packed."""
        return (*self.contents.files, *self.package, *([] if self.tasks is None else [self.tasks]))

    @property
    def size_bytes(self) -> int:
        """Before it is compressed."""
        return sum(file.size_bytes for file in self.files)

    def name_of(self, asked: str, path: Path) -> str:
        """Where the job finds a file or folder of the working dir, relative to its own.

        Args:
            asked: what it is to the user, such as ``fleet file``.
            path: as the user named it.
        Raises:
            ParcelError: where it lies outside, or stays at home.
        """
        root = self.contents.root.resolve()
        try:
            name = path.resolve().relative_to(root).as_posix()
        except ValueError:
            remedy = "move it there, or name another folder with --working-dir"
            raise ParcelError(f"{asked} {path}", f"is not in the working dir {root}", remedy) from None
        within = "" if name == "." else name + "/"
        if any(file.name == name or file.name.startswith(within) for file in self.contents.files):
            return name
        for left in self.contents.left_out:
            if left.name == name or (left.name.endswith("/") and (name + "/").startswith(left.name)):
                raise ParcelError(
                    f"{asked} {path}", f"is not sent: {_words(left)}", "put it elsewhere, or make it smaller"
                )
        raise ParcelError(f"{asked} {path}", "holds no file to send", "check the path")

    def write(self, path: Path) -> None:
        """Pack it as a zip.

        Raises:
            ParcelError: where a file cannot be read any more.
        """
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in self.files:
                entry = zipfile.ZipInfo(file.name, _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                try:
                    entry.external_attr = (file.source.stat().st_mode & 0xFFFF) << 16
                    data = file.source.read_bytes()
                except OSError as error:
                    raise ParcelError(f"file {file.source}", str(error), "see that it can be read") from None
                packed.writestr(entry, data)


def parcel_of(working_dir: Path, *, tasks: Path | None, most_bytes: int = MOST_BYTES) -> Parcel:
    """Plan what is sent.

    Raises:
        ParcelError: where the working dir or the tasks are not there.
    """
    contents = contents_of(working_dir)
    package: tuple[SentFile, ...] = ()
    if not any(file.name == f"{PACKAGE}/__init__.py" for file in contents.files):
        home = Path(symfonic_ray.__file__).parent
        package = tuple(
            SentFile(name=f"{PACKAGE}/{file.name}", source=file.source, size_bytes=file.size_bytes)
            for file in contents_of(home).files
        )
    sent_tasks = None
    if tasks is not None:
        if not tasks.is_file():
            raise ParcelError(f"tasks {tasks}", "is no file", "give a file with a JSON value a line")
        size = tasks.stat().st_size
        if size > most_bytes:
            words = f"holds {megabytes(size)}, over the limit of {megabytes(most_bytes)}"
            raise ParcelError(f"tasks {tasks}", words, "split it into several jobs")
        sent_tasks = SentFile(name=TASKS_NAME, source=tasks, size_bytes=size)
    return Parcel(contents=contents, package=package, tasks=sent_tasks)


def _words(left: LeftOut) -> str:
    return f"{left.name} ({left.why}, {megabytes(left.size_bytes)})"
