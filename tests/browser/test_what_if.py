"""What if: take facts away, check by retraining, find the smallest set, cancel."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

Why = Callable[..., Page]


def untick(page: Page, number: int) -> None:
    boxes = page.locator("table.facts input[type=checkbox]")
    for place in range(number):
        boxes.nth(place).uncheck()


def test_facts_taken_away_are_estimated_and_kept_in_the_address(why: Why) -> None:
    page = why()
    bar = page.get_by_role("region", name="What if")
    expect(bar).to_be_hidden()
    untick(page, 2)
    expect(bar.get_by_role("status")).to_contain_text("Without these 2 facts")
    expect(bar.locator(".estimate")).to_be_visible()
    said = bar.get_by_role("status").inner_text()
    page.reload()
    expect(bar.get_by_role("status")).to_have_text(said)
    expect(page.locator("tr.removed")).to_have_count(2)
    bar.get_by_role("button", name="Put all back").click()
    expect(bar).to_be_hidden()
    assert "without" not in page.url


def test_a_check_sets_the_estimate_beside_the_retrained_model(why: Why) -> None:
    page = why()
    untick(page, 3)
    page.get_by_role("button", name="Check by retraining").click()
    verdict = page.locator(".verdict")
    expect(verdict.locator(".retrained")).to_be_visible()
    rows = verdict.get_by_role("table", name="Estimated and retrained").locator("tbody tr")
    expect(rows).to_have_count(3)
    tops = verdict.get_by_role("table", name="Top answers before and after")
    assert tops.locator("tbody tr").count() >= 5
    for row, name in zip(rows.all(), ("before", "estimated", "actual"), strict=True):
        expect(row).to_contain_text(name)
        expect(row).to_contain_text("%")
    said = verdict.inner_text()
    page.reload()
    expect(verdict).to_have_text(said, use_inner_text=True)
    page.goto("/jobs")
    expect(page.get_by_role("heading", name="Check by retraining").first).to_be_visible()


def test_a_check_by_keyboard_alone(why: Why) -> None:
    page = why()
    page.locator("table.facts input[type=checkbox]").first.focus()
    page.keyboard.press("Space")
    button = page.get_by_role("button", name="Check by retraining")
    expect(button).to_be_visible()
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-check]')"):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".verdict .retrained")).to_be_visible()
    expect(page.get_by_role("heading", name="Check by retraining")).to_be_focused()


def test_a_page_agrees_with_its_own_proof(why: Why) -> None:
    page = why()
    bar, check = page.get_by_role("region", name="What if"), page.locator("[data-check]")
    lead, other = page.locator("#lead"), page.locator("[data-other]")
    untick(page, 3)
    expect(check).to_contain_text("about")  # its price
    check.click()
    expect(bar.locator(".retrained")).to_be_visible()
    expect(lead).to_contain_text("Without these 3 facts")
    expect(lead.locator(".retrained")).to_be_visible()
    expect(page.locator(".removed-facts li")).to_have_count(3)
    expect(page.locator("#trust")).to_contain_text("All other numbers are estimates by rollback")
    expect(check).to_be_hidden()
    expect(other).to_be_hidden()
    box = page.locator("table.facts input[type=checkbox]").nth(3)
    box.uncheck()
    expect(bar.locator(".estimate")).to_be_visible()
    expect(check).to_be_visible()
    expect(other).to_be_visible()
    box.check()
    expect(bar.locator(".retrained")).to_be_visible()
    expect(check).to_be_hidden()
    expect(other).to_be_hidden()


def test_a_check_is_found_again_if_the_server_no_longer_knows_the_job(why: Why) -> None:
    page = why()
    untick(page, 2)
    page.get_by_role("button", name="Check by retraining").click()
    table = page.get_by_role("table", name="Estimated and retrained")
    expect(table).to_be_visible()
    said = table.inner_text()
    known = page.evaluate("new URL(location.href).searchParams.get('job')")
    page.goto(page.url.replace(f"job={known}", "job=forgotten"))
    expect(table).to_have_text(said, use_inner_text=True)
    expect(page.locator(".verdict")).to_contain_text("2 stored already")
    assert "job=forgotten" not in page.url


def test_back_leads_to_the_result_of_the_check_before(why: Why) -> None:
    page = why()
    lead, check = page.locator("#lead"), page.locator("[data-check]")
    untick(page, 1)
    check.click()
    expect(lead).to_contain_text("Without the fact")
    untick(page, 2)
    check.click()
    expect(lead).to_contain_text("Without these 2 facts")
    page.go_back()
    expect(lead).to_contain_text("Without the fact")
    page.get_by_role("link", name="Untick its facts").click()
    expect(page.locator("tr.removed")).to_have_count(1)
    expect(page.locator("#whatif .retrained")).to_be_visible()


def test_the_smallest_set_is_unticked(why: Why) -> None:
    page = why()
    page.get_by_role("button", name="Find the smallest set").click()
    verdict = page.locator(".verdict")
    expect(verdict).to_be_visible()
    expect(verdict.get_by_role("table", name="Estimated and retrained")).to_be_visible()
    expect(verdict.get_by_role("table", name="Top answers before and after")).to_be_visible()
    removed = page.locator("tr.removed")
    expect(removed.first).to_be_visible()
    ids = removed.evaluate_all("rows => rows.map(row => row.dataset.fact)")
    left_out = page.evaluate("new URL(location.href).searchParams.get('without')")
    assert sorted(left_out.split(",")) == sorted(ids)
    expect(page.get_by_role("heading", name="Smallest set")).to_be_focused()
    expect(page.locator("#trust")).to_contain_text("which also chose the facts to try")
    expect(page.locator("#whatif .retrained")).to_be_visible()
    page.get_by_role("button", name="Put all back").click()
    expect(removed).to_have_count(0)
    titles = set(page.locator("tr.group").all_inner_texts())
    assert titles <= {"Facts that support it", "Facts that oppose it", "Facts without influence"}
    with page.expect_download() as saved:
        verdict.get_by_role("link", name="HTML").click()
    assert saved.value.suggested_filename == "smallest-india-students-usa.html"


def test_a_job_survives_a_reload_and_can_be_cancelled(page: Page) -> None:
    page.goto("/runs/nations/why?subject=india&relation=students&object=usa&method=retrain")
    expect(page.get_by_role("button", name="Cancel")).to_be_enabled()  # the server has the job
    page.goto("/jobs")
    job = page.locator("section.job-entry", has=page.locator(".job"))
    expect(job).to_have_count(1)
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    expect(job).to_have_count(1)
    job.get_by_role("button", name="Cancel").click()
    expect(page.locator("section.job-entry").first).to_contain_text("cancelled")
    assert not [each for each in asked if each.endswith("/events")]  # browsers allow few streams


def test_a_cancelled_page_says_so_and_offers_another_way(page: Page) -> None:
    page.goto("/runs/nations/why?subject=india&relation=students&object=uk&method=retrain")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator(".methods [aria-current]")).to_contain_text("rollback")
