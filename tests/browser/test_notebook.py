"""What `show` displays in the cell of a notebook."""

from pathlib import Path

from playwright.sync_api import Page, expect

import whereof
from whereof.present.explanation import explanation_page
from whereof.present.notebook import Frame


def test_the_frame_of_a_cell_has_the_table_and_the_graph(page: Page, runs: list[Path]) -> None:
    names = "india", "students", "usa"
    found = whereof.Run.open(runs[0]).explain(*names, method="rollback", graph=True)
    page.set_content(Frame(explanation_page(found), 640)._repr_html_())
    cell = page.frame_locator("iframe")
    ranks = cell.locator("table.facts tbody tr[data-fact]")
    expect(ranks).to_have_count(len(found.facts))
    first = ranks.first.get_attribute("data-fact")
    assert first == str(found.facts[0].fact_id)
    cell.get_by_role("button", name="rank").click()
    expect(ranks.last).to_have_attribute("data-fact", first)
    expect(cell.locator("svg.whereof-chart rect.between")).not_to_have_count(0)
