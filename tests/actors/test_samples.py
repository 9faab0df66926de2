"""What a newcomer asks of the bundled documents, and the quote that comes first."""

from __future__ import annotations

import pytest

import symfonic_ray.samples
from symfonic_ray.samples import SAMPLE_QUESTION
from tests.actors.fleets import ask, assert_quotes_stand_in_their_files

SAMPLES = symfonic_ray.samples.SAMPLE_FOLDER


def test_there_are_six_documents_of_30_to_80_lines() -> None:
    documents = [*SAMPLES.glob("*.md"), *SAMPLES.glob("*.txt")]
    assert len(documents) == 6
    assert all(30 <= len(document.read_text("utf-8").splitlines()) <= 80 for document in documents)


@pytest.mark.parametrize(
    ("question", "file", "words"),
    [
        (SAMPLE_QUESTION, "visiting.md", "open to visitors on Friday and Saturday"),
        ("Who founded the observatory?", "history.txt", "founded in 1931 by Edith Harrow"),
        ("How much is a ticket for a student?", "visiting.md", "| Student           | 5.50  |"),
        ("When was the main dome finished?", "history.txt", "finished in October 1935"),
        ("How big is the lens of the refractor?", "equipment.md", "Its lens measures"),
        ("Who is the present director?", "history.txt", "Dr. Ilse Brandt"),
        ("What should we do when there is thunder?", "safety.md", "When thunder is heard"),
        ("When does the last bus leave?", "visiting.md", "The last bus back leaves at 23:50."),
        ("Are guide dogs welcome?", "visiting.md", "Guide dogs are welcome"),
        ("Who must be told about an accident?", "safety.md", "Every accident, however small, is reported"),
        ("How many comets has the survey camera found?", "equipment.md", "17 comets"),
        ("Where is the assembly point?", "safety.md", "the lawn in front of the library"),
        ("How often is the mirror coated?", "equipment.md", "every fifth year"),
        ("Which night was the coldest?", "weather-log.txt", "coldest night of the month"),
        ("How many hives are there?", "history.txt", "eleven hives"),
    ],
)
async def test_the_first_quote_answers(question: str, file: str, words: str) -> None:
    answer = await ask(SAMPLES, question)
    assert_quotes_stand_in_their_files(answer, SAMPLES)
    first = [quote for quote in answer.quotes if quote.file == answer.quotes[0].file][:3]
    assert first[0].file == file
    assert any(words in quote.text for quote in first)


@pytest.mark.parametrize(
    "question",
    ["What is the capital of France?", "Does the observatory have a swimming pool?", "What is the wifi password?"],
)
async def test_what_the_documents_do_not_say_is_not_answered(question: str) -> None:
    assert (await ask(SAMPLES, question)).quotes == ()
