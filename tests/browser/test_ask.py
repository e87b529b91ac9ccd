"""Ask: completion, ranked answers, lists of predictions, and errors."""

import re

import pytest
from playwright.sync_api import Page, expect


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def test_a_question_by_keyboard_alone(page: Page) -> None:
    page.goto("/runs/nations/ask")
    tab_to(page, "#subject")
    for field, text, name in (("subject", "ind", "india"), ("relation", "students", "students")):
        page.keyboard.type(text)
        expect(page.locator(f"#{field}-names li").first.locator("span")).to_have_text(name)
        expect(page.locator(f"#{field}")).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("ArrowDown")
        expect(page.locator(f"#{field}-names [aria-selected=true] span")).to_have_text(name)
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="india students which object?")).to_be_visible()
    tab_to(page, "table.answers a")
    answer = page.locator("table.answers a").first.inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"india students {answer}")


def test_escape_closes_the_list_and_keeps_the_text(page: Page) -> None:
    page.goto("/runs/nations/ask")
    page.locator("#subject").press_sequentially("u")
    page.wait_for_selector("#subject-names li")
    page.keyboard.press("Escape")
    expect(page.locator("#subject-names")).to_be_hidden()
    expect(page.locator("#subject")).to_have_value("u")


def test_answers_are_ranked_and_say_where_they_are_known_from(page: Page) -> None:
    page.goto("/runs/nations/ask?subject=india&relation=students")
    shown = page.locator("table.answers tbody td.number:nth-child(3)").all_inner_texts()
    values = [float(each.rstrip("%")) for each in shown]
    assert values == sorted(values, reverse=True)
    known = page.locator("table.answers tr", has=page.locator(".tag", has_text="training"))
    expect(known.locator("td").first).to_have_text("")  # it has no rank
    page.get_by_role("link", name="Show more answers").click()
    expect(page.locator("table.answers tbody tr")).to_have_count(14)


def test_asking_for_subjects(page: Page) -> None:
    page.goto("/runs/nations/ask")
    page.get_by_label("Find subjects").check()
    expect(page.locator("#subject")).to_be_hidden()
    page.locator("#object").fill("usa")
    page.locator("#relation").fill("embassy")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("heading", name="? embassy usa")).to_be_visible()
    expect(page.locator("table.answers tbody tr")).to_have_count(10)


@pytest.mark.parametrize("title", ["Unstable", "Top new answers", "Test set"])
def test_lists_of_predictions_lead_to_why(page: Page, title: str) -> None:
    page.goto("/runs/nations/ask")
    page.wait_for_selector("#list li")
    tab = page.get_by_role("link", name=title)
    with page.expect_response(re.compile("list=")):
        tab.click()
    expect(tab).to_have_attribute("aria-current", "true")
    expect(page.locator("#list")).not_to_have_attribute("aria-busy", "true")
    first = page.locator("#list li a").first
    text = first.inner_text()
    first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/runs/nations/ask?subject=atlantis&relation=students", "atlantis"),
        ("/runs/nations/why?subject=india&relation=students&object=atlantis", "atlantis"),
        ("/runs/none/ask", "none"),
        ("/nothing", "there is no page /nothing"),
    ],
)
def test_errors_are_one_line_on_the_page(
    page: Page, problems: list[str], path: str, says: str
) -> None:
    page.goto(path)
    error = page.locator(".error:visible")
    expect(error).to_contain_text(says)
    expect(page.get_by_role("link", name="Whereof")).to_be_visible()
    assert all(each.startswith("Failed to load resource") for each in problems)
    problems.clear()


def test_a_completion_shows_the_name_of_a_label_only_if_it_was_typed(page: Page) -> None:
    page.goto("/runs/measured/ask")
    field = page.get_by_label("Subject", exact=True)
    for text, names in (("brit", []), ("uk", ["uk"])):
        field.fill("")
        field.press_sequentially(text)
        option = page.get_by_role("option").filter(has_text="Great Britain")
        expect(option.locator("small")).to_have_text(
            re.compile(rf"^{''.join(f'{name} · ' for name in names)}\d+\sfacts$")
        )
