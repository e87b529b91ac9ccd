"""The page Audit: it offers an audit, starts one, and shows what it found."""

import csv
import json
import re
import time

import pytest
from httpx import Client
from present.pages import read_page

import whereof
from server.conftest import serving


def finished(client: Client, job: str) -> dict[str, object]:
    for _ in range(600):
        found = client.get(f"/api/jobs/{job}").json()
        if found["state"] not in ("waiting", "running"):
            return dict(found)
        time.sleep(0.1)
    raise AssertionError("the job does not end")


@pytest.mark.parametrize("start", ["estimate", "verify"])
def test_an_audit_is_started_and_shown(client: Client, nations: whereof.Run, start: str) -> None:
    page = client.get("/runs/nations/audit").text
    view = re.search(r'<script type="application/json" id="view">(.*?)</script>', page, re.DOTALL)
    assert view
    asked = json.loads(view[1])
    task = asked["tasks"][start == "verify"] | {"limit": 4, "top": 2}
    assert task.get("verify", False) is (start == "verify")
    done = finished(client, client.post(asked["jobs"], json=task).json()["id"])
    assert done["state"] == "done", done["message"]
    shown = read_page(client.get("/runs/nations/audit", params={"job": done["id"]}).text)
    text = shown.text
    found = nations.audit(limit=4, top=2, verify=start == "verify", method=task["method"])
    assert done["result"]["suspicious"] == found.to_dict()["suspicious"]
    for words in ("Suspicious facts", found.suspicious[0].relation or "", "what if they were"):
        assert words in text
    assert ("MRR without" in text) is (start == "verify")
    first = found.suspicious[0]
    names = f"subject={first.subject}&relation={first.relation}&object={first.object}"
    assert f"/runs/nations/why?{names}" in shown.links
    kinds = {
        "json": "application/json",
        "csv": "text/csv; charset=utf-8",
        "html": "text/html; charset=utf-8",
    }
    for format, kind in kinds.items():
        saved = client.get(f"/api/jobs/{done['id']}/result", params={"format": format})
        assert saved.headers["content-type"] == kind
        assert f'filename="audit.{format}"' in saved.headers["content-disposition"]
        if format == "csv":
            rows = [*csv.DictReader(saved.text.splitlines())]
            suspicious = [row for row in rows if row["table"] == "suspicious"]
            ids = [int(row["fact_id"]) for row in suspicious]
            assert ids == [fact.fact_id for fact in found.suspicious]
            assert ("verified" in {row["table"] for row in rows}) is (start == "verify")
    assert "Suspicious facts" in read_page(client.get("/runs/nations/audit").text).text
    listed = client.get("/jobs").text
    assert f"/runs/nations/audit?job={done['id']}" in listed


def test_an_audit_is_found_again_by_another_server(
    client: Client, nations: whereof.Run, caplog: pytest.LogCaptureFixture
) -> None:
    task = {"kind": "audit", "method": "rollback", "limit": 4, "top": 2}
    job = finished(client, client.post("/api/runs/nations/jobs", json=task).json()["id"])
    bad = [nations.file("audits") / name for name in ("bad.json", "deep.json")]
    for path, text in zip(bad, ("[]", "[" * 200_000), strict=True):
        path.write_text(text)
    with serving({"nations": nations}) as address, Client(base_url=address, timeout=60) as other:
        again = other.get(f"/api/jobs/{job['id']}").json()
        page = read_page(other.get("/runs/nations/audit", params={"job": job["id"]}).text)
        saved = other.get(f"/api/jobs/{job['id']}/result", params={"format": "csv"})
    for path in bad:
        path.unlink()
    for name in ("run", "kind", "options", "created", "state", "result"):
        assert again[name] == job[name]
    assert "Suspicious facts" in page.headings
    assert saved.status_code == 200
    for path in bad:
        assert f"{path.name} is left out" in caplog.text


def test_the_page_offers_an_audit(client: Client) -> None:
    page = read_page(client.get("/runs/ratings/audit").text)
    assert "An audit lists training facts that look wrong" in page.text
    assert client.get("/runs/none/audit").status_code == 404
    assert "about" in page.text.split("Start an audit with a check")[1]


def test_an_audit_that_the_server_does_not_have_is_not_replaced_by_another(client: Client) -> None:
    page = read_page(client.get("/runs/nations/audit", params={"job": "none"}).text)
    assert "The server no longer has the audit of this address" in page.text
    assert "Suspicious facts" not in page.text
