"""What `show` displays in the cell of a notebook."""

import re
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


def test_the_facts_of_a_cell_are_filtered_and_point_at_the_graph(
    page: Page, runs: list[Path]
) -> None:
    names = "india", "students", "usa"
    found = whereof.Run.open(runs[0]).explain(*names, method="rollback", graph=True)
    page.set_content(Frame(explanation_page(found), 1200)._repr_html_())
    cell, first = page.frame_locator("iframe"), found.facts[0].fact_id
    rows = cell.locator("table.facts tr[data-fact]")
    row, edge = rows.first, cell.locator(f"svg [data-fact='{first}']")
    row.hover()
    for each in (row, edge):
        expect(each).to_have_class(re.compile("lit"))
    expect(cell.locator("svg.lighting")).to_have_count(1)
    cell.get_by_role("heading", level=1).hover()
    expect(cell.locator(".lit")).to_have_count(0)
    edge.locator("text").first.hover()
    expect(row).to_have_class(re.compile("lit"))
    students = sum(fact.relation == "students" for fact in found.facts)
    cell.get_by_role("searchbox", name="Filter").fill("students")
    expect(cell.locator("table.facts tr[data-fact]:visible")).to_have_count(
        sum("students" in str(fact.relation) for fact in found.facts)
    )
    assert 0 < students < len(found.facts)
    cell.get_by_role("searchbox", name="Filter").fill("no such fact")
    expect(cell.locator("table.facts tbody:visible")).to_have_count(0)
