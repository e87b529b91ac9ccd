"""Pages that start work by a click: Audit and Run."""

from playwright.sync_api import Page, expect


def test_an_audit_starts_by_a_click_and_leads_to_its_facts(page: Page) -> None:
    page.goto("/runs/ratings/audit")
    expect(page.get_by_role("heading", name="Suspicious facts")).to_have_count(0)
    page.get_by_role("button", name="Start an audit", exact=False).first.click()
    expect(page.get_by_role("heading", name="Suspicious facts")).to_be_visible()
    assert "job=" in page.url
    page.reload()
    expect(page.get_by_role("heading", name="Suspicious facts")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("link", name="JSON").click()
    assert saved.value.suggested_filename == "audit.json"
    page.locator("td.words a").first.click()
    expect(page.get_by_role("heading", name="What the model says")).to_be_visible()


def test_the_reliability_of_a_run_is_measured_by_a_click(page: Page) -> None:
    page.goto("/runs/measured/about")
    expect(page.get_by_text("not known yet how far you can trust the estimates")).to_be_visible()
    page.get_by_role("button", name="Measure reliability").click()
    expect(page.get_by_role("heading", name="Reliability of estimates")).to_be_visible()
    expect(page.get_by_role("button", name="Measure reliability")).to_have_count(0)
    expect(page.get_by_role("button", name="Evaluate")).to_be_visible()
