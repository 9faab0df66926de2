"""Which files are read, in which slices, and what may be opened at all."""

from __future__ import annotations

import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from actors import listing as listing_module
from actors.errors import AssignmentError, InputError
from actors.listing import SLICE_BYTES, LeftOut, Listed, Skipped, Slice, listing
from actors.opening import open_inside


def listed(path: Path) -> list[Listed]:
    return list(listing(str(path)))


def reasons(path: Path) -> dict[str, str]:
    return {item.file: item.reason for item in listed(path) if isinstance(item, Skipped)}


def slices(path: Path) -> list[Slice]:
    return [item for item in listed(path) if isinstance(item, Slice)]


def test_files_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    names = ["a-b.txt", "a/x.md", "a/y/z.md", "a0.md", "b.txt"]
    for name in reversed(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    assert [part.file for part in slices(tmp_path)] == sorted(names)


def test_hidden_files_caches_and_installed_modules_are_passed_over_in_silence(tmp_path: Path) -> None:
    for name in (".hidden.md", ".git/x.md", "__pycache__/x.md", "node_modules/x.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    assert listed(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"text\0more", "binary"),
        ("Öffnung".encode("latin-1"), "not UTF-8"),
        ("text".encode("utf-16"), "not UTF-8 (it looks like UTF-16)"),
        (b"\xed\xa0\x80", "not UTF-8"),
        (b"end inside \xe2\x82", "not UTF-8"),
    ],
    ids=["empty", "nul", "latin-1", "utf-16", "surrogate", "cut character"],
)
def test_a_file_that_is_no_text_is_skipped_by_name(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "odd.md").write_bytes(content)
    assert listed(tmp_path) == [Skipped("odd.md", reason)]


def test_the_sniffed_head_may_end_inside_a_character(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("x" + "é" * 50_000, encoding="utf-8")
    assert len(slices(tmp_path)) == 1


def test_a_large_file_that_stops_being_text_is_skipped_whole(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_bytes(b"text\n" * (SLICE_BYTES // 4) + b"\xff")
    assert listed(tmp_path) == [Skipped("large.txt", "not UTF-8")]


def test_slices_join_to_the_file_and_begin_at_their_lines(tmp_path: Path) -> None:
    content = "".join(f"line {number} {'é' * (number % 90)}\n" for number in range(70_000)).encode()
    (tmp_path / "large.txt").write_bytes(content)
    parts = slices(tmp_path)
    assert len(parts) == len(content) // SLICE_BYTES + 1
    assert [part.start for part in parts] == [0, *(part.end for part in parts[:-1])]
    assert parts[-1].end == len(content)
    for part in parts:
        assert part.end - part.start <= SLICE_BYTES
        assert content[part.start :].startswith(f"line {part.first_line - 1} ".encode())


@pytest.mark.parametrize("unit", ["word ", "é", "天"], ids=["words", "two bytes", "three bytes"])
def test_a_line_longer_than_a_slice_is_cut_between_characters(tmp_path: Path, unit: str) -> None:
    content = ("x" + unit * (2 * SLICE_BYTES // len(unit.encode()))).encode()
    (tmp_path / "line.txt").write_bytes(content)
    parts = slices(tmp_path)
    assert len(parts) > 1
    assert {part.first_line for part in parts} == {1}
    assert "".join(content[part.start : part.end].decode() for part in parts) == content.decode()


def test_a_slice_knows_the_code_block_that_is_open_where_it_begins(tmp_path: Path) -> None:
    (tmp_path / "large.md").write_bytes(b"```\nclosed\n```\n~~~~\n" + b"code\n" * (SLICE_BYTES // 5) + b"~~~~\ntext\n")
    assert [part.fence for part in slices(tmp_path)] == ["", "~~~~"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        for _ in range(15):
            file.write(b"a line of text that is read\n" * (SLICE_BYTES // 28))
    tracemalloc.start()
    count = len(slices(tmp_path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count >= 15
    assert peak < 6 * SLICE_BYTES


def test_files_over_the_limit_are_counted_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "MAX_FILES", 3)
    for number in range(8):
        (tmp_path / f"{number}.md").write_text("text")
    assert [part.file for part in slices(tmp_path)] == ["0.md", "1.md", "2.md"]
    assert listed(tmp_path)[-1] == LeftOut(5, exact=True)


def test_counting_what_is_left_out_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "MAX_FILES", 1)
    monkeypatch.setattr(listing_module, "MAX_COUNTED", 4)
    for number in range(8):
        (tmp_path / f"{number}.md").write_text("text")
    assert listed(tmp_path)[-1] == LeftOut(4, exact=False)


def test_the_limit_is_2000_files() -> None:
    assert listing_module.MAX_FILES == 2_000


def test_links_are_followed_inside_the_folder_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.md").write_text("text")
    (root / "inside.md").write_text("text")
    (root / "leaves.md").symlink_to(tmp_path / "outside.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "nowhere.md").symlink_to("missing.md")
    (root / "stays.md").symlink_to("inside.md")
    (root / "up").symlink_to(tmp_path)
    assert [part.file for part in slices(root)] == ["inside.md", "stays.md"]
    assert reasons(root) == {
        "leaves.md": "a link that leaves the input folder",
        "loop.md": "cannot be read (too many levels of symbolic links)",
        "nowhere.md": "cannot be read (no such file or directory)",
        "up/": "a linked folder, not followed",
    }


def test_fifos_and_sockets_are_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        found = reasons(tmp_path)
    assert found["fifo"] == "not a regular file"
    assert set(found) == {"fifo", "socket"}


def test_a_name_that_is_not_utf_8_is_skipped_with_its_bytes_shown(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))).write_text("text")
    assert reasons(tmp_path) == {"caf\\udce9.md": "its name is not UTF-8"}


def test_a_file_that_vanishes_while_the_folder_is_listed_is_a_skip(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("text")
    items = listing(str(tmp_path))
    next(items)
    (tmp_path / "b.md").unlink()
    assert list(items) == [Skipped("b.md", "cannot be read (no such file or directory)")]


def test_one_file_is_an_input_too(tmp_path: Path) -> None:
    (tmp_path / ".hidden.md").write_text("text")
    (part,) = slices(tmp_path / ".hidden.md")
    assert (part.root, part.file, part.path) == (str(tmp_path), ".hidden.md", str(tmp_path / ".hidden.md"))


@pytest.mark.parametrize("path", ["relative/folder", "/nowhere/at/all", "/dev/null", "/with\0nul"])
def test_an_input_that_cannot_be_read_at_all_is_an_error_that_names_it(path: str) -> None:
    with pytest.raises(InputError) as caught:
        listing(path)
    assert ascii(path) in str(caught.value)
    assert "absolute path" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../outside.md", "outside"),
        ("link.md", "link"),
        ("folder", "not a regular file"),
        ("fifo", "not a regular file"),
    ],
)
def test_nothing_but_a_regular_file_inside_the_root_is_opened(tmp_path: Path, path: str, problem: str) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "outside.md").write_text("text")
    (root / "link.md").symlink_to("../outside.md")
    os.mkfifo(root / "fifo")
    with pytest.raises(AssignmentError, match=problem):
        open_inside(str(root), f"{root}/{path}")


def test_a_folder_whose_name_only_begins_like_the_root_is_outside(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root-of-another").mkdir()
    (tmp_path / "root-of-another" / "a.md").write_text("text")
    with pytest.raises(AssignmentError, match="outside"):
        open_inside(str(tmp_path / "root"), str(tmp_path / "root-of-another" / "a.md"))
