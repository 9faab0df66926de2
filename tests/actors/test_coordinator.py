"""The answer as a whole: quotes, order, notes, and what happens when readers fail."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors import coordinator
from actors import listing as listing_module
from actors.answer import LABEL, NOTHING_FOUND, NOTHING_READ, Quote
from actors.coordinator import IN_FLIGHT, NEEDED, NO_SUBJECT, TOO_LONG
from actors.errors import InputError
from actors.listing import SLICE_BYTES
from symfonic_ray.delegation import serving
from symfonic_ray.testing import FakeFleet
from tests.actors.fleets import ask, assert_quotes_stand_in_their_files, read

QUESTION = "When is the dome open?"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


async def test_a_quote_names_file_line_and_child(tmp_path: Path) -> None:
    write(tmp_path, {"sub/hours.md": "# Hours\n\nThe dome is open on Friday.\n", "bees.md": "Bees fly over hills.\n"})
    answer = await ask(tmp_path, QUESTION)
    assert answer.quotes == (Quote("sub/hours.md", 3, "The dome is open on Friday.", "reader"),)
    assert answer.final_response.splitlines() == [
        "sub/hours.md:3: The dome is open on Friday.",
        "",
        LABEL,
    ]


async def test_the_lines_of_a_wrapped_sentence_stand_together(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "Long before that, the main dome was open to each and\nevery one on Friday, as is known."})
    answer = await ask(tmp_path, QUESTION)
    assert [quote.line for quote in answer.quotes] == [1, 2]
    assert "a.md:1: Long before that, the main dome was open to each and\na.md:2: every one" in answer.final_response


async def test_scores_of_different_files_compare(tmp_path: Path) -> None:
    # In common.md the word "dome" is everywhere, in rare.md it stands once: only together do they show what is rare.
    write(
        tmp_path,
        {
            "common.md": "".join(f"Note {number} on the dome, of small interest.\n\n" for number in range(40)),
            "rare.md": "The shutter of the dome is greased in August.\n\nBees fly.\n",
        },
    )
    answer = await ask(tmp_path, "When is the dome shutter greased?")
    assert [quote.file for quote in answer.quotes] == ["rare.md"]


async def test_at_most_five_groups_are_quoted(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.md": f"The dome is open on day {number} of May." for number in range(9)})
    assert [quote.file for quote in (await ask(tmp_path, QUESTION)).quotes] == [f"{number}.md" for number in range(5)]


async def test_the_same_words_are_quoted_once(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday.", "b.html": "<p>The dome is open on Friday.</p>"})
    assert [quote.file for quote in (await ask(tmp_path, QUESTION)).quotes] == ["a.md"]


async def test_nothing_found_is_said_with_the_files_that_were_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday.", "b.md": "Bees fly over hills."})
    answer = await ask(tmp_path, "What is the capital of France?")
    assert answer.quotes == ()
    assert answer.final_response == f"{NOTHING_FOUND}\n\nread (2 files):\n  a.md\n  b.md"


async def test_a_word_in_common_is_not_an_answer(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday.\n\nThe dome is green.\n\nThe dome is round.\n\nBees fly."})
    assert (await ask(tmp_path, "Does the dome have a swimming pool?")).quotes == ()


async def test_a_folder_without_a_readable_file_says_that_nothing_was_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.bin": "x\0y"})
    answer = await ask(tmp_path, QUESTION)
    assert answer.final_response == f"{NOTHING_READ}\n\nnot read (1 entries):\n  a.bin: binary"


async def test_a_question_without_a_subject_is_told_so(tmp_path: Path) -> None:
    assert (await ask(tmp_path, "What is it?")).final_response == NO_SUBJECT


async def test_a_question_of_many_thousand_characters_is_told_so(tmp_path: Path) -> None:
    assert (await ask(tmp_path, "dome " * 2_000)).final_response == TOO_LONG


@pytest.mark.parametrize(
    "query",
    ["hello", "[]", "5", "{}", '{"question": "x"}', '{"question": 1, "input": "/"}', "[" * 100_000],
    ids=lambda query: query[:20],
)
async def test_a_task_of_another_shape_is_told_what_is_needed(query: str) -> None:
    assert (await coordinator.build("test").run(query)).final_response == NEEDED


async def test_a_mapping_is_as_good_as_its_json(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday."})
    query = {"question": QUESTION, "input": str(tmp_path)}
    with serving(FakeFleet({"reader": read})):
        agent = coordinator.build("test")
        assert await agent.run(query) == await agent.run(json.dumps(query))


async def test_a_missing_input_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        await ask(tmp_path / "missing", QUESTION)


async def test_a_file_is_an_input_too(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday.", "b.md": "The dome is open on Sunday."})
    assert [quote.file for quote in (await ask(tmp_path / "b.md", QUESTION)).quotes] == ["b.md"]


async def test_outside_a_run_there_is_no_fleet(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        await coordinator.build("test").run({"question": QUESTION, "input": str(tmp_path)})


async def test_no_more_readers_than_the_bound_run_at_once(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.md": "The dome is open on Friday." for number in range(40)})
    running, most = 0, 0
    full = asyncio.Event()

    async def slow(task: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == IN_FLIGHT:
            asyncio.get_running_loop().call_later(0.3, full.set)  # time enough for one too many to start
        await full.wait()
        running -= 1
        return await read(task)

    async with asyncio.timeout(20):
        await ask(tmp_path, QUESTION, child=slow)
    assert most == IN_FLIGHT == 16


async def test_a_failed_reader_is_a_note_and_the_others_answer(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday.", "b.md": "The dome is open on Sunday."})

    async def failing(task: str) -> str:
        if json.loads(task)["file"] == "a.md":
            raise RuntimeError("the disk is on fire")
        return await read(task)

    answer = await ask(tmp_path, QUESTION, child=failing)
    assert [quote.file for quote in answer.quotes] == ["b.md"]
    (note,) = answer.notes
    assert note.startswith("a.md: its reader failed (exception): ")
    assert note.endswith("RuntimeError: the disk is on fire")
    assert note in answer.final_response


async def test_a_child_that_is_no_reader_is_a_note(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday."})

    async def babbling(task: str) -> str:
        return "I am a poet"

    answer = await ask(tmp_path, QUESTION, child=babbling)
    assert answer.quotes == ()
    assert answer.notes[0].startswith("a.md: its reader answered something else")


async def test_a_fleet_without_a_reader_is_a_note_for_each_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday."})
    with serving(FakeFleet({"poet": read})):
        answer = await coordinator.build("test").run({"question": QUESTION, "input": str(tmp_path)})
    assert answer.notes[0].startswith("a.md: its reader failed (unknown_child)")


async def test_a_file_that_changes_after_it_was_listed_is_a_note(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday.", "b.md": "The dome is open on Sunday."})

    both_listed = asyncio.Barrier(2)

    async def late(task: str) -> str:
        await both_listed.wait()
        if (tmp_path / "a.md").exists():
            (tmp_path / "a.md").unlink()
            (tmp_path / "b.md").write_text("Nothing is left.")
        return await read(task)

    answer = await ask(tmp_path, QUESTION, child=late)
    assert {note.partition(":")[0] for note in answer.notes} == {"a.md", "b.md"}
    assert answer.quotes == ()


async def test_only_the_first_ten_notes_are_shown_and_all_are_kept(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "The dome is open on Friday."} | {f"{number:02}.txt": "" for number in range(25)})
    answer = await ask(tmp_path, QUESTION)
    assert len(answer.notes) == 25
    assert answer.final_response.count(": empty") == 10
    assert answer.final_response.endswith("  09.txt: empty\n  and 15 more")


async def test_files_over_the_limit_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "MAX_FILES", 1)
    write(tmp_path, {"a.md": "The dome is open on Friday.", "b.md": "", "c.md": ""})
    assert (await ask(tmp_path, QUESTION)).notes == ("2 more files: over the limit, not read",)


async def test_a_name_with_a_line_break_cannot_forge_a_quote(tmp_path: Path) -> None:
    write(tmp_path, {"a\nb.md": "The dome is open on Friday.", "c\x1b[2J.md": ""})
    answer = await ask(tmp_path, QUESTION)
    assert answer.quotes[0].file == "a\nb.md"
    assert answer.final_response.startswith("a\\nb.md:1: The dome")
    assert "\x1b" not in answer.final_response


async def test_two_scopes_at_the_same_time_never_see_each_others_files(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", {f"{n}.md": f"The dome is open on Friday {n}, says mine." for n in range(30)})
    other = write(tmp_path / "other", {f"{n}.md": f"The dome is open on Sunday {n}, says other." for n in range(30)})
    answers = await asyncio.gather(*(ask(folder, QUESTION) for folder in (mine, other) * 3))
    for place, answer in enumerate(answers):
        assert len(answer.quotes) == 5
        assert all(quote.text.endswith(("mine.", "other.")[place % 2]) for quote in answer.quotes)


async def test_a_folder_of_mixed_files_is_answered_and_every_odd_one_is_named(tmp_path: Path) -> None:
    write(tmp_path, {f"{number:03}.md": f"Day {number} passed.\n\n" * 2 * number for number in range(1, 60)})
    (tmp_path / "empty.txt").touch()
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)))
    (tmp_path / "latin.txt").write_bytes("Öffnungszeiten".encode("latin-1"))
    filler = "".join(f"Reading {number} of the rain gauge was normal.\n" for number in range(SLICE_BYTES // 40))
    write(tmp_path, {"large.txt": f"{filler}The dome shutter is greased in August.\n{filler}"})
    answer = await ask(tmp_path, "When is the dome shutter greased?")
    assert answer.quotes == (
        Quote("large.txt", filler.count("\n") + 1, "The dome shutter is greased in August.", "reader"),
    )
    assert answer.notes == ("binary.bin: binary", "empty.txt: empty", "latin.txt: not UTF-8")


@pytest.mark.parametrize(
    ("text", "question", "line"),
    [
        ("Der Garten ist groß.\n\nDie Sternwarte öffnet am Freitag.\n", "Wann ÖFFNET die Sternwarte?", 3),
        ("庭は広いです。\n\n天文台は金曜日に開きます。\n", "天文台はいつ開きますか", 3),
        ("Сад большой.\n\nОбсерватория открыта в пятницу.\n", "Когда открыта обсерватория?", 3),
        ("الحديقة كبيرة.\n\nالمرصد مفتوح يوم الجمعة.\n", "متى المرصد مفتوح؟", 3),
        ("बगीचा बड़ा है।\n\nवेधशाला शुक्रवार को खुलती है।\n", "वेधशाला कब खुलती है?", 3),
    ],
    ids=["german", "japanese", "russian", "arabic", "hindi"],
)
async def test_other_languages_are_answered_too(tmp_path: Path, text: str, question: str, line: int) -> None:
    write(tmp_path, {"a.md": text})
    assert (await ask(tmp_path, question)).quotes[0].line == line


FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            "The dome is open on Friday",
            "dome open. ",
            "Is the dome open? ",
            "# dome ",
            "- dome open",
            "| dome | open |",
            "**dome** open: ",
            "```",
            "---",
            "dome open " * 60,
        ]
    ),
    st.text(st.sampled_from(" .?!:;|#*`\t\r\x0b\x0c\x1c\x85\u2028\u2029\u200f\ufeff\x1b。天é"), max_size=8),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(FRAGMENTS, max_size=5).map("".join), max_size=10), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
async def test_every_quote_stands_in_its_file_at_its_line(
    tmp_path: Path, lines: list[str], ending: str, marked: bool
) -> None:
    (tmp_path / "a.md").write_bytes((b"\xef\xbb\xbf" if marked else b"") + ending.join(lines).encode())
    (tmp_path / "b.txt").write_bytes(ending.join(reversed(lines)).encode())
    assert_quotes_stand_in_their_files(await ask(tmp_path, "Is the dome open on Friday?"), tmp_path)


async def test_hostile_text_does_give_quotes(tmp_path: Path) -> None:
    # The property above would hold of an agent that never quotes.
    (tmp_path / "a.md").write_bytes("\ufeff\x0c> - **The dome**\tis open\u2028on Friday\x85now\r\n".encode())
    answer = await ask(tmp_path, "Is the dome open on Friday?")
    assert [quote.text for quote in answer.quotes] == ["> - **The dome**\tis open", "on Friday"]
    assert_quotes_stand_in_their_files(answer, tmp_path)
