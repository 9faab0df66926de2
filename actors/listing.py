"""Which files of an input are read, and in which slices. Knows no question, no sentence, no reader.

Streams: however large a file is, no more than one slice of it is in memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from actors.errors import AssignmentError, InputError
from actors.opening import open_inside

MAX_FILES = 2_000
MAX_COUNTED = 100_000  # files left out are counted up to here: an input of "/" must still end
SLICE_BYTES = 2 * 1024 * 1024  # one to two seconds of one core for a reader (measured: 0.95 s of 1.9 MB)
_SNIFFED_BYTES = 64 * 1024
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
_MARKDOWN = (".md", ".markdown", ".mdx", ".mkd")
_FENCE = re.compile(rb"^[ \t>]{0,8}(`{3,}|~{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A stretch of one text file that one reader reads."""

    root: str
    """Absolute path of the input folder, links followed."""
    file: str
    """Relative to the root, with ``/``."""
    start: int
    """First byte."""
    end: int
    """Byte after the last one."""
    first_line: int = 1
    """Number of the line in which ``start`` stands, from 1."""
    fence: str = ""
    """The mark of the code block that is open at ``start``; empty outside code."""
    file_bytes: int
    """Size of the whole file when it was listed."""
    modified_ns: int
    """Modification time when it was listed, nanoseconds."""

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        return os.path.join(self.root, *self.file.split("/"))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not read."""

    file: str
    """Relative to the root; a folder ends with ``/``."""
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files beyond the limit."""

    count: int
    exact: bool
    """False when counting was given up."""


Listed: TypeAlias = Slice | Skipped | LeftOut


def listing(input_path: str) -> Iterator[Listed]:
    """The slices of an input in the order of their paths, with what is skipped in its place.

    Hidden files and folders, ``__pycache__`` and ``node_modules`` are passed over in silence; linked folders, binary
    files, texts that are not UTF-8 and empty files are skipped by name.

    Args:
        input_path: absolute path of a folder or of one file.
    Raises:
        InputError: the input is missing, not absolute, neither file nor folder, or may not be read.
    """
    if "\0" in input_path or not os.path.isabs(input_path):
        raise InputError(ascii(input_path), "is not an absolute path")
    real = os.path.realpath(input_path)
    try:
        if os.path.isdir(real):
            os.scandir(real).close()
            return _of_folder(real)
        open_inside(real, real).close()
    except AssignmentError as refusal:
        raise InputError(ascii(input_path), f"is {refusal.problem}") from refusal
    except OSError as error:
        raise InputError(ascii(input_path), f"cannot be read ({_words(error)})") from error
    return _of_file(os.path.dirname(real), os.path.basename(real))


def _of_folder(root: str) -> Iterator[Listed]:
    files = 0
    walk = _walk(root)
    for found in walk:
        if isinstance(found, Skipped):
            yield found
        elif files < MAX_FILES:
            files += 1
            yield from _of_file(root, found)
        else:
            count = 1
            while count < MAX_COUNTED and (further := next(walk, None)) is not None:
                count += isinstance(further, str)
            yield LeftOut(count, exact=count < MAX_COUNTED)
            return


def _walk(root: str) -> Iterator[str | Skipped]:
    """Relative names of everything that may be a file, in path order."""
    pending: list[str | Skipped] = [""]  # the next one is last; a folder is "" or ends with "/"
    while pending:
        item = pending.pop()
        if isinstance(item, Skipped) or (item and not item.endswith("/")):
            yield item
            continue
        try:
            with os.scandir(os.path.join(root, item)) as found:
                entries = sorted(found, key=_shown_name, reverse=True)
        except OSError as error:
            yield Skipped(item, f"cannot be listed ({_words(error)})")
            continue
        pending.extend(_item(item, entry) for entry in entries if not _is_hidden(entry.name))


def _item(folder: str, entry: os.DirEntry[str]) -> str | Skipped:
    name = folder + _shown_name(entry)
    if not _is_utf8(entry.name):
        return Skipped(name.encode("utf-8", "backslashreplace").decode(), "its name is not UTF-8")
    if entry.is_symlink() and os.path.isdir(entry.path):
        return Skipped(name + "/", "a linked folder, not followed")
    return name


def _shown_name(entry: os.DirEntry[str]) -> str:
    return entry.name + "/" * entry.is_dir(follow_symlinks=False)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED_FOLDERS


def _of_file(root: str, file: str) -> Iterator[Listed]:
    try:
        with open_inside(root, os.path.join(root, file)) as source:
            yield from _slices(root, file, source)
    except AssignmentError as refusal:
        yield Skipped(file, refusal.problem)
    except OSError as error:
        yield Skipped(file, f"cannot be read ({_words(error)})")


def _slices(root: str, file: str, source: BinaryIO) -> list[Listed]:
    status = os.fstat(source.fileno())
    size = status.st_size
    if size == 0:
        return [Skipped(file, "empty")]
    if size <= SLICE_BYTES:
        head = source.read(_SNIFFED_BYTES)
        fault = _fault(head, whole=len(head) >= size)
        return [
            Skipped(file, fault)
            if fault
            else Slice(root=root, file=file, start=0, end=size, file_bytes=size, modified_ns=status.st_mtime_ns)
        ]
    found: list[Listed] = []
    start, line, fence, rest = 0, 1, b"", b""
    while window := rest + source.read(SLICE_BYTES - len(rest)):
        length = len(window) if start + len(window) >= size else _cut(window)
        piece, rest = window[:length], window[length:]
        if fault := _fault(piece, whole=True):
            return [Skipped(file, fault)]
        found.append(
            Slice(
                root=root,
                file=file,
                start=start,
                end=start + length,
                first_line=line,
                fence=fence.decode(),
                file_bytes=size,
                modified_ns=status.st_mtime_ns,
            )
        )
        start, line = start + length, line + piece.count(b"\n")
        fence = _fence_after(piece, fence) if is_markdown(file) else b""
    return found


def is_markdown(file: str) -> bool:
    """Whether the name of ``file`` says that its text is markdown."""
    return file.lower().endswith(_MARKDOWN)


def _fault(text: bytes, *, whole: bool) -> str:
    """Why ``text`` cannot be read; empty if it can. Without ``whole`` it may end inside a character."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not UTF-8 (it looks like UTF-16)"
    if b"\0" in text:
        return "binary"
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        if whole or error.end < len(text) or error.reason != "unexpected end of data":
            return "not UTF-8"
    return ""


def _cut(window: bytes) -> int:
    """How much of ``window`` the slice takes: whole lines, else whole words, else whole characters."""
    length = window.rfind(b"\n") + 1 or window.rfind(b" ") + 1
    if not length:
        length = len(window) - 1
        while length > len(window) - 4 and window[length] & 0xC0 == 0x80:
            length -= 1
    return length


def _fence_after(piece: bytes, fence: bytes) -> bytes:
    for mark in _FENCE.findall(piece):
        if not fence:
            fence = mark
        elif mark.startswith(fence):
            fence = b""
    return fence


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _words(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
