"""The page Audit: it offers an audit, starts one, and shows what it found."""

import json
import re
import time

import pytest
from httpx import Client
from present.pages import read_page

import whereof


def finished(client: Client, job: str) -> dict[str, object]:
    for _ in range(600):
        found = client.get(f"/api/jobs/{job}").json()
        if found["state"] not in ("waiting", "running"):
            return dict(found)
        time.sleep(0.1)
    raise AssertionError("the job does not end")


@pytest.mark.parametrize("start", ["estimate", "verify"])
def test_an_audit_is_started_and_shown(client: Client, nations: whereof.Run, start: str) -> None:
    page = client.get("/runs/nations/audit", params={"start": start}).text
    view = re.search(r'<script type="application/json" id="view">(.*?)</script>', page, re.DOTALL)
    assert view
    asked = json.loads(view[1])
    assert asked["task"]["verify"] is (start == "verify")
    task = asked["task"] | {"limit": 4, "top": 2}
    done = finished(client, client.post(asked["jobs"], json=task).json()["id"])
    assert done["state"] == "done", done["message"]
    text = read_page(client.get("/runs/nations/audit", params={"job": done["id"]}).text).text
    found = nations.audit(limit=4, top=2, verify=start == "verify", method=task["method"])
    assert done["result"]["suspicious"] == found.to_dict()["suspicious"]
    for words in ("Suspicious facts", found.suspicious[0].relation or "", "what if they were"):
        assert words in text
    assert ("MRR without" in text) is (start == "verify")
    assert "Suspicious facts" in read_page(client.get("/runs/nations/audit").text).text
    listed = client.get("/jobs").text
    assert f"/runs/nations/audit?job={done['id']}" in listed


def test_the_page_offers_an_audit(client: Client) -> None:
    page = read_page(client.get("/runs/ratings/audit").text)
    assert "An audit lists training facts that look wrong" in page.text
    assert client.get("/runs/none/audit").status_code == 404
    assert client.get("/runs/ratings/audit", params={"start": "x"}).status_code == 422
