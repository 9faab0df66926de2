"""The page in a real Chromium, beside a real pool: a hundred tenants, a thousand runs, failures, a freeze by click."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cluster import PoolLimits
from symfonic_ray.console import serve_console
from symfonic_ray.delegation import PrebuiltChild
from tests.cluster.conftest import PoolMaker, local_ray, open_pool  # noqa: F401  # fixtures

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCOPES = 100
RUNS = 10
BROWSER = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.timeout(170),
]


class Picky:
    """Answers, unless it is asked not to."""

    async def run(self, query: str) -> str:
        if query == "wait":
            await asyncio.sleep(60)
        if "3" in query:
            raise ValueError("<script>document.title = 'hacked'</script> no luck with 3")
        return query


async def test_a_hundred_tenants_and_a_thousand_runs_stay_usable(open_pool: PoolMaker, tmp_path: Path) -> None:  # noqa: F811
    playwright = pytest.importorskip("playwright.async_api")
    child = PrebuiltChild(name="picky", description="answers", agent=Picky())
    pool = await open_pool(child, limits=PoolLimits(max_live_scopes=200, max_hosts=256))
    pictures = Path(os.environ.get("PICTURES", tmp_path))
    async with serve_console(pool) as console, playwright.async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=BROWSER)
        page = await browser.new_page(viewport={"width": 1280, "height": 900})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
        await page.goto(console.url)
        for number in range(SCOPES):
            async with pool.scope(f"tenant-{number}") as fleet:
                for run in range(RUNS):
                    await fleet.delegate("picky", f"task {run}")
        async with pool.scope("tenant-5") as fleet:
            waiting = asyncio.create_task(fleet.delegate("picky", "wait"))
            await _says(page, "#scopes-count", f"{SCOPES}")
            await _says(page, "#reasons", f"{SCOPES} exception")
            assert "no luck with 3" in await page.inner_text("#failures .row:first-child")
            assert await page.title() == "symfonic-ray console"
            await page.screenshot(path=pictures / "console.png")
            await page.set_viewport_size({"width": 390, "height": 800})
            await page.screenshot(path=pictures / "console-phone.png", full_page=True)
            wide: Any = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 390
            await page.fill("#filter", "tenant-5")
            await page.check("#running")
            await _says(page, "#runs-count", "1")
            await page.click("#runs button")
            assert (await waiting).reason == "cancelled"
            await page.uncheck("#running")
            await page.click("#scopes .row:has-text('tenant-5 ') button")
            await _says(page, "#scopes", "frozen")
            assert (await fleet.delegate("picky", "task 1")).reason == "frozen"
        await browser.close()
    assert problems == []


async def _says(page: Any, place: str, words: str) -> None:
    """Wait until a part of the page says something."""
    shows = "([place, words]) => document.querySelector(place).innerText.includes(words)"
    await page.wait_for_function(shows, arg=[place, words], timeout=20_000)
