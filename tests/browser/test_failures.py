"""When something fails, the page says so in its place, and goes on."""

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Route, expect

Why = Callable[..., Page]


def refuse(message: str) -> Callable[[Route], None]:
    page = f'<main><p class="error">{message}</p></main>'
    return lambda route: route.fulfill(status=400, content_type="text/html", body=page)


@pytest.fixture
def failing(page: Page, problems: list[str]) -> Iterator[Page]:
    """A page whose console may name the requests that fail."""
    yield page
    problems[:] = [each for each in problems if "Failed to load resource" not in each]


def test_a_card_that_fails_says_why(failing: Page, why: Why) -> None:
    page = why()
    page.route("**/entity?*", refuse("unknown entity"))
    page.locator("h1 a.entity").first.click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("unknown entity")
    expect(page.locator("main")).to_have_count(1)


def test_a_card_is_named_by_its_heading(why: Why) -> None:
    page = why()
    page.locator("h1 a.entity").first.click()
    expect(page.get_by_role("dialog", name="india")).to_be_visible()


def test_a_list_that_fails_says_why(failing: Page) -> None:
    failing.route("**/ask?list=unstable", refuse("no trace"))
    failing.goto("/runs/nations/ask")
    failing.get_by_role("link", name="Unstable").click()
    expect(failing.locator("#list").get_by_role("alert")).to_have_text("no trace")


def test_a_graph_whose_script_fails_stays_a_picture(failing: Page) -> None:
    failing.route("**/graph.js*", lambda route: route.abort())
    failing.goto("/runs/nations/why?subject=india&relation=students&object=usa&method=rollback")
    expect(failing.locator("#graph svg")).to_contain_text("usa")  # the picture stays
    failing.locator("table.facts input[type=checkbox]").first.uncheck()
    expect(failing.locator("#whatif .estimate")).to_be_visible()


def test_a_refused_cancel_can_be_tried_again(failing: Page) -> None:
    message = '{"message": "not now"}'

    def answer(route: Route) -> None:
        if route.request.method == "DELETE":
            route.fulfill(status=409, content_type="application/json", body=message)
        else:
            route.continue_()

    failing.route("**/api/jobs/*", answer)
    failing.goto("/runs/nations/why?subject=india&relation=students&object=brazil&method=retrain")
    button = failing.get_by_role("button", name="Cancel")
    button.click()
    expect(failing.get_by_text("not now")).to_be_visible()
    expect(button).to_be_enabled()
    failing.unroute("**/api/jobs/*")
    button.click()
    expect(failing.get_by_role("alert").filter(has_text="cancelled")).to_be_visible()


def test_other_ticks_mark_an_earlier_result(why: Why) -> None:
    page = why()
    boxes = page.locator("table.facts input[type=checkbox]")
    boxes.nth(0).uncheck()
    page.get_by_role("button", name="Check by retraining").click()
    expect(page.locator(".verdict")).to_be_visible()
    notice = page.get_by_text("This result is for other facts")
    expect(notice).to_be_hidden()
    boxes.nth(1).uncheck()
    expect(notice).to_be_visible()
    link = page.locator(".downloads a[download]").first
    fact = page.locator("tr[data-fact]").nth(1).get_attribute("data-fact")
    assert fact in str(link.get_attribute("href")).split("without=")[1]


def test_what_if_on_a_page_of_retrained_facts(page: Page) -> None:
    page.goto("/runs/nations/why?subject=india&relation=students&object=usa&method=verified")
    expect(page.get_by_text("These numbers are measured by retraining")).to_be_visible()
    page.locator("table.facts input[type=checkbox]").first.uncheck()
    expect(page.locator("#whatif .estimate")).to_be_visible()
    with page.expect_download() as download:
        page.locator(".downloads").get_by_text("JSON", exact=True).click()
    assert json.loads(download.value.path().read_text())["method"] == "verified"
