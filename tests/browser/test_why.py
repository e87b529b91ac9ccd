"""Why: sentence, facts, graph, cards, methods, permalinks, downloads and compare."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Download, Page, expect

Why = Callable[..., Page]
ROWS = "table.facts tr[data-fact]:visible"


def facts(page: Page) -> list[str]:
    """The ids of the facts, in their order on the page."""
    return page.locator(ROWS).evaluate_all("rows => rows.map(row => row.dataset.fact)")


def test_words_and_numbers_lead(why: Why) -> None:
    page = why()
    lead = page.locator("p.lead")
    expect(lead).to_contain_text("Without")
    expect(lead.locator(".estimate")).to_be_visible()
    for title in ("What the model says", "How far to trust it", "The facts it is made of"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    for title in ("Facts that support it", "Facts that oppose it"):
        expect(page.get_by_role("rowheader", name=title)).to_be_visible()


def test_a_sorted_and_filtered_table_has_an_address(why: Why) -> None:
    page = why()
    given = facts(page)
    page.get_by_role("columnheader", name="fact").get_by_role("button").click()
    by_name = facts(page)
    assert by_name != given
    assert sorted(by_name) == sorted(given)
    page.locator("[data-filter=relation]").select_option("students")
    filtered = facts(page)
    assert filtered == [each for each in by_name if each in filtered]
    assert 0 < len(filtered) < len(given)
    page.reload()
    page.wait_for_selector("#graph canvas")
    assert facts(page) == filtered
    expect(page.locator("[data-filter=relation]")).to_have_value("students")
    expect(page.get_by_role("columnheader", name="fact")).to_have_attribute(
        "aria-sort", "ascending"
    )


def test_number_and_sign_of_facts(why: Why) -> None:
    page = why()
    page.get_by_label("Supporting").check()
    expect(page.get_by_role("rowheader", name="Facts that oppose it")).to_have_count(0)
    page.get_by_label("Number").select_option("5")
    expect(page.locator(ROWS)).to_have_count(5)
    assert "opposing=false" in page.url
    assert "top=5" in page.url


def test_a_row_lights_its_edge_in_the_graph(why: Why) -> None:
    page = why()
    drawn = """() => [...document.querySelectorAll('#graph canvas')]
        .map(each => each.toDataURL()).join()"""
    page.evaluate("new Promise(requestAnimationFrame)")
    before = page.evaluate(drawn)
    page.locator(ROWS).first.hover()
    page.wait_for_function(f"before => ({drawn})() !== before", arg=before)


def test_the_card_of_an_entity(why: Why) -> None:
    page = why()
    page.locator("h1 a.entity").first.click()
    card = page.get_by_role("dialog")
    expect(card.get_by_role("heading", name="india", exact=True)).to_be_visible()
    expect(card.get_by_role("heading", name="What the data says")).to_be_visible()
    expect(card.get_by_role("heading", name="What the model predicts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_the_address_keeps_an_open_card(why: Why) -> None:
    page = why()
    card = page.get_by_role("dialog")
    page.locator("h1 a.entity").first.click()
    expect(card.get_by_role("heading", name="india", exact=True)).to_be_visible()
    page.reload()
    expect(card.get_by_role("heading", name="india", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(page).not_to_have_url(re.compile("card"))


def test_a_closer_estimate_comes_by_itself_and_leaves_the_reader_alone(why: Why) -> None:
    page = why("", run="copy")
    current = page.locator(".methods [aria-current]")
    expect(current).to_contain_text("rollback")
    expect(page.locator("#closer progress")).to_be_visible()
    box = page.locator("table.facts input[type=checkbox]").nth(2)
    name, fact = box.get_attribute("aria-label"), facts(page)[2]
    box.focus()
    page.keyboard.press("Space")
    page.locator("[data-filter=relation]").focus()
    box.focus()
    expect(current).to_contain_text("unrolled")
    expect(page.locator("#closer progress")).to_have_count(0)
    expect(page.locator("tr.removed")).to_have_count(1)
    expect(page.locator(f"tr[data-fact='{fact}'] input")).to_be_focused()
    expect(page.locator("#whatif .estimate")).to_be_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == name
    page.reload()
    expect(current).to_contain_text("unrolled")  # stored in the run
    expect(page.locator("#closer")).to_be_empty()


def test_a_closer_estimate_leaves_an_open_card_open(page: Page) -> None:
    page.goto("/runs/copy/why?subject=india&relation=students&object=uk")
    page.locator("h1 a.entity").first.click()
    card = page.get_by_role("dialog")
    expect(card.get_by_role("heading", name="india", exact=True)).to_be_visible()
    expect(page.locator(".methods [aria-current]")).to_contain_text("unrolled")
    expect(card.get_by_role("heading", name="india", exact=True)).to_be_visible()
    assert "card=india" in page.url


def test_a_slower_method_is_computed_while_the_page_shows_a_quick_one(why: Why) -> None:
    page = why(run="copy", more="&method=rollback&asks=subject")
    expect(page.locator("#closer")).to_be_empty()  # the reader chose rollback
    page.get_by_role("navigation", name="Method").get_by_role("link", name="unrolled").click()
    current = page.locator(".methods [aria-current]")
    expect(current).to_contain_text("unrolled")
    expect(page.locator(".estimate").first).to_be_visible()
    found = facts(page)
    page.reload()
    expect(current).to_contain_text("unrolled")
    assert facts(page) == found


def saved(download: Download, folder: Path) -> Path:
    path = folder / download.suggested_filename
    download.save_as(path)
    return path


def test_downloads(why: Why, tmp_path: Path, problems: list[str]) -> None:
    page, found = why(), dict[str, Path]()
    listed = facts(page)
    downloads = page.locator(".downloads")
    for name in ("JSON", "CSV", "SVG", "PNG", "HTML"):
        with page.expect_download() as download:
            downloads.get_by_text(name, exact=True).click()
        found[name] = saved(download.value, tmp_path)
        assert found[name].name == f"explanation-india-students-usa.{name.lower()}"
    ids = [str(each["fact_id"]) for each in json.loads(found["JSON"].read_text())["facts"]]
    rows = list(csv.DictReader(io.StringIO(found["CSV"].read_text())))
    assert ids == listed[: len(ids)]
    assert len(rows) == len(ids)
    assert ElementTree.parse(found["SVG"]).getroot().tag.endswith("svg")
    assert found["PNG"].read_bytes().startswith(b"\x89PNG\r\n")
    page.goto(found["HTML"].as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("india students usa")
    expect(page.locator("svg").first).to_be_visible()


def test_two_predictions_side_by_side(why: Why) -> None:
    page = why()
    page.get_by_role("link", name="Compare with another prediction").click()
    page.get_by_role("combobox", name="Object").fill("uk")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".sides section")).to_have_count(2)
    expect(page.locator("table.compared tbody tr").first).to_be_visible()


def test_one_prediction_in_two_runs(why: Why) -> None:
    page = why()
    page.get_by_role("link", name="Compare with another prediction").click()
    page.get_by_role("main").get_by_role("link", name="copy", exact=True).click()
    expect(page.get_by_text("10 are the same")).to_be_visible()  # the copy has the same facts


@pytest.mark.parametrize("path", ["subject=u1&object=m3", "subject=u0&object=m1"])
def test_recommenders_speak_of_users_items_and_ratings(page: Page, path: str) -> None:
    page.goto(f"/runs/ratings/why?{path}&method=rollback")
    page.wait_for_selector("#graph canvas")
    first = page.locator("table.facts tr.group").first
    expect(first).to_contain_text("Ratings of")
    said = page.get_by_role("main").inner_text().lower()
    assert not {"subject", "object", "relation", "fact", "facts"} & set(said.split())
    page.goto("/runs/ratings/ask")
    expect(page.get_by_label("User", exact=True)).to_be_visible()
    expect(page.get_by_label("Find items")).to_be_checked()
