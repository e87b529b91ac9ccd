"""Pages of the server: what they say, and that names stay text."""

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

from present.documents import HOSTILE, explanation, fact, made
from present.pages import read_page
from present.test_verdict import stand, verdict
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize, count_retrainings
from whereof.explain.explanation import Explanation, MethodCost
from whereof.explain.interesting import InterestingPrediction
from whereof.predict.answers import Answer, Answers
from whereof.present.html import Site
from whereof.present.names import Words, short_relation
from whereof.present.pages.address import AskAddress, WhyAddress
from whereof.present.pages.ask import LISTS, ask_page
from whereof.present.pages.jobs import JobView, jobs_page
from whereof.present.pages.layout import graph_layout, graph_legend, layout_svg
from whereof.present.pages.price import RETRAININGS, Prices
from whereof.present.pages.runs import runs_page
from whereof.present.pages.why import Reasons, why_page

SITE = Site("toy", "why")
TURNED = "\u202eevil\u200f"
"""A name that turns the direction of what follows."""


def answers(*names: str, asks: str = "object", relation: str | None = "in") -> Answers:
    query = {"subject": "ann", "relation": relation, "object": None}
    found = [
        Answer(name, name, 0.5 / rank, 1.0, rank, "test" if rank == 1 else None)
        for rank, name in enumerate(names, 1)
    ]
    return Answers(query, dict(query), asks, tuple(found), 8)


def reasons(*names: str) -> Explanation:
    """Two facts that support the prediction, and one that opposes it."""
    subject, relation, object_ = names or ("ann", "in", "paris")
    return made(
        explanation(
            (subject, relation, object_),
            [
                fact(3, (subject, relation, "rome"), 0.25, ("subject", "relation")),
                fact(4, ("bob", relation, object_), 0.1, ("relation", "object"), source="a.tsv"),
                fact(5, ("bob", "knows", subject), -0.1, ("subject",), source="b.tsv"),
            ],
        )
    )


def rated() -> Explanation:
    facts = [
        fact(1, ("7", None, "9"), 0.3, ("subject",), rating=5.0),
        fact(2, ("8", None, "50"), 0.4, ("object",), rating=4.0),
    ]
    return made(explanation(("7", None, "50"), facts, prediction={"top_answer": "50"}))


def view_of(page: str) -> dict[str, Any]:
    """The data for the script of a page."""
    found = re.search(r'<script type="application/json" id="view">(.*?)</script>', page)
    assert found
    return dict(json.loads(found[1]))


def test_why_names_the_answers_of_the_test_set() -> None:
    true = answers("paris", "rome", "oslo")
    found = Reasons(reasons(), answers("paris"), true=true)
    page = why_page(SITE, WhyAddress("ann", "in", "paris"), found)
    assert "The test set says rome (25.0%, rank 2), oslo (16.7%, rank 3)." in read_page(page).text
    assert "/runs/toy/why?subject=ann&amp;relation=in&amp;object=oslo" in page
    assert "Why not oslo?" in page
    page = why_page(SITE, WhyAddress("ann", "in", "paris"), Reasons(reasons(), answers("paris")))
    assert "The test set says" not in page


@pytest.mark.parametrize("known", ["test", "train"])
def test_why_offers_no_other_answer_instead_of_a_true_one(known: str) -> None:
    mine = replace(reasons().prediction, known=known)
    found = Reasons(
        replace(reasons(), prediction=mine), answers("paris"), true=answers("paris", "rome", "oslo")
    )
    page = why_page(SITE, WhyAddress("ann", "in", "paris"), found)
    assert (
        "The test set also says rome (25.0%, rank 2), oslo (16.7%, rank 3)." in read_page(page).text
    )
    assert "Why oslo?" in page
    assert "Why not" not in page


@pytest.mark.parametrize(("split", "where"), [("train", "training"), ("valid", "validation")])
def test_a_known_answer_has_no_rank_but_a_place_in_the_list(split: str, where: str) -> None:
    mine = replace(reasons().prediction, known=split)
    found = Reasons(replace(reasons(), prediction=mine), answers("rome", "oslo"))
    page = read_page(why_page(SITE, WhyAddress("ann", "in", "paris"), found)).text
    assert f"50.0% probability, known from {where}, would be 2nd among 1,200 new answers" in page
    assert (
        page.index("rome test 50.0%")
        < page.index(f"paris {where} 50.0%")
        < page.index("oslo 25.0%")
    )
    below = Reasons(replace(reasons(), prediction=replace(mine, rank=3)), answers("rome", "oslo"))
    assert f"paris {where}" not in why_page(SITE, WhyAddress("ann", "in", "paris"), below)


def test_a_method_is_recommended_only_if_it_can_run_here() -> None:
    costs = (MethodCost("rollback", None, "rough"), MethodCost("retrain", 1e6, "exact"))
    for each, recommended in (
        (costs, False),
        ((costs[0], MethodCost("retrain", 5, "exact")), True),
    ):
        found = replace(reasons(), costs=each, recommended="retrain")
        shown = Reasons(found, answers("paris"), prices=Prices(job_seconds=1800))
        page = why_page(SITE, WhyAddress("ann", "in", "paris"), shown)
        assert ("recommended" in page) is recommended
        assert "every fact, retrained" in page
        assert "quick estimate" in page


def test_why_says_the_standing_the_facts_and_that_they_are_estimates() -> None:
    page = why_page(
        SITE, WhyAddress("ann", "in", "paris"), Reasons(reasons(), answers("paris", "rome"))
    )
    text = read_page(page).text
    assert "50.0% probability, rank 2 among 1,200 new answers" in text
    assert "estimates by rollback: no retraining has confirmed them" in text
    assert text.index("Facts that support it") < text.index("Facts that oppose it")
    assert "+25.0 points" in text
    assert "−10.0 points" in text
    assert re.findall(r'data-fact="(\d+)"', page) == ["3", "4", "5"]
    assert view_of(page)["about"] == {
        "subject": "ann",
        "relation": "in",
        "object": "paris",
        "asks": "object",
        "method": "rollback",
    }


def test_facts_that_the_address_leaves_out_are_listed_without_their_tick() -> None:
    whole = reasons()
    some = made(
        explanation(("ann", "in", "paris"), [fact(3, ("ann", "in", "rome"), 0.25, ("subject",))])
    )
    asked = WhyAddress("ann", "in", "paris", without=(3, 5))
    page = why_page(SITE, asked, Reasons(some, answers("paris"), left_out=whole.facts[2:]))
    text = read_page(page).text
    assert text.index("Facts that support it") < text.index("Facts that oppose it")
    boxes = re.findall(r'type="checkbox"( checked)?', page)
    assert boxes == ["", ""]


def test_recommendations_speak_of_users_items_and_ratings() -> None:
    page = why_page(SITE, WhyAddress("7", "", "50"), Reasons(rated(), answers("50", relation=None)))
    text = read_page(page).text
    assert "user 7 item 50" in text
    assert text.index("Ratings of user 7") < text.index("Ratings of other users with item 50")
    opposed = replace(rated(), facts=tuple(replace(it, influence=-1.0) for it in rated().facts))
    page = why_page(SITE, WhyAddress("7", "", "50"), Reasons(opposed, answers("50", relation=None)))
    assert "Ratings of user 7 that oppose it" in page
    assert "support it" not in page.split('id="listed"')[1].split("</section>")[0]
    assert "item 9 rated 5" in text
    assert "user 8 rated it 4" in text
    assert "What must be removed to stop this recommendation?" in text
    below = replace(rated(), prediction=replace(rated().prediction, top_answer="9"))
    page = why_page(SITE, WhyAddress("7", "", "50"), Reasons(below, answers("50", relation=None)))
    assert "stop this recommendation" not in page  # it is none
    assert "subject" not in text


@pytest.mark.parametrize("name", [HOSTILE, TURNED])
def test_names_stay_text(name: str) -> None:
    asked = WhyAddress(name, name, name)
    pages = [
        why_page(SITE, asked, Reasons(reasons(name, name, name), answers(name))),
        ask_page(SITE, AskAddress(name, name), two_way=False, answers=answers(name), error=name),
        runs_page({name: {"model": name, "dataset": name, "n_facts": 1}}),
    ]
    for page in pages:
        assert "<b>" not in page
        assert page.count("</script>") == page.count("<script")
        assert "style=" not in page
        assert "\x00" not in page
        read_page(page)


def test_a_label_hides_the_name_unless_two_answers_share_it() -> None:
    labelled = [
        Answer("50", "Heat", None, 4.25, 1, None),
        Answer("51", "Ran", None, 4.0, 2, None),
        Answer("52", "Ran", None, 3.5, 3, None),
    ]
    found = replace(answers(relation=None), answers=tuple(labelled))
    page = ask_page(SITE, AskAddress("ann"), two_way=True, rated=True, answers=found, scale=(1, 5))
    assert 'title="50">Heat</a>' in page
    assert re.findall(r"<small>(\d+)</small>", page) == ["51", "52"]
    text = read_page(page).text
    assert "4.25 of 5" in text
    assert "Ratings in the data go from" not in text


@pytest.mark.parametrize(
    ("true", "probability", "about"),
    [
        ("50", 0.5, "a true answer, rank 3, rated 4 of 5"),
        ("9", 0.5, "a true answer is item 9, rank 3, rated 4 of 5"),
        ("50", None, "true rating 4 of 5"),
        ("9", None, ""),
    ],
)
def test_a_true_rating_is_said_of_the_item_that_has_it(
    true: str, probability: float | None, about: str
) -> None:
    stands = vars(rated().prediction) | {"probability": probability}
    more = {"reason": "test", "true_answer": true, "true_rank": 3}
    found = InterestingPrediction(**stands, **more, true_rating=4.0)
    asked = {"two_way": True, "kind": "test", "interesting": [found], "scale": (1.0, 5.0)}
    assert f"<small>{about}</small>" in ask_page(SITE, AskAddress(), **asked)


def test_ask_marks_known_answers_and_links_each_to_why() -> None:
    page = ask_page(SITE, AskAddress("ann", "in"), two_way=False, answers=answers("paris", "rome"))
    found = read_page(page)
    assert "/runs/toy/why?subject=ann&relation=in&object=paris" in found.links
    assert re.search(r"paris test 50\.0%", found.text)
    assert all(title in found.text for title, _ in LISTS.values())


def test_ask_keeps_the_form_beside_an_error() -> None:
    page = ask_page(SITE, AskAddress("anne", "in"), two_way=False, error="unknown entity 'anne'")
    assert 'value="anne"' in page
    assert '<p class="error" role="alert">unknown entity &#39;anne&#39;</p>' in page


def test_the_graph_is_the_same_for_the_same_facts_and_sets_them_apart() -> None:
    words = Words.of(two_way=False)
    found = graph_layout(reasons(), words)
    assert found == graph_layout(reasons(), words)
    edges = {edge["id"]: edge for edge in found["edges"]}
    assert edges.keys() == {"prediction", "fact-3", "fact-4", "fact-5"}
    assert edges["prediction"]["y"] < edges["fact-3"]["y"] < edges["fact-5"]["y"]
    nodes = {node["id"]: node for node in found["nodes"]}
    assert nodes["subject"]["x"] < 0 < nodes["object"]["x"]
    assert all(edge[end] in nodes for edge in edges.values() for end in ("source", "target"))
    heights = [edge["y"] for edge in edges.values() if edge["source"] == "subject"]
    assert len({*heights}) == len(heights)


def test_the_legend_lists_what_the_graph_shows_and_groups_have_their_own_ground() -> None:
    facts = [
        fact(3, ("ann", "knows", "paris"), 0.25, ("subject", "object")),
        fact(4, ("bob", "in", "rome"), 0.1, ("relation",)),
    ]
    words, (first, second) = Words.of(two_way=False), ("between the same two", "between other")
    layout = graph_layout(made(explanation(("ann", "in", "paris"), facts)), words)
    texts = [text for _, text in graph_legend(layout, words)]
    assert texts == ["predicted", "supports", f"{first} entities", f"{second} entities"]
    (band,) = (node for node in layout["nodes"] if node["kind"] == "band")
    (edge,) = (edge for edge in layout["edges"] if edge["id"] == "fact-3")
    assert abs(edge["y"] - band["y"]) < band["height"] / 2
    texts = [text for _, text in graph_legend(graph_layout(reasons(), words), words)]
    assert texts == ["predicted", "supports", "opposes", "through a third entity"]


def test_the_legend_has_the_colours_of_facts_that_are_not_in_the_list() -> None:
    edges = [{"sign": "supports"}, *({"sign": sign, "listed": False} for sign in ("opposes", "no"))]
    legend = graph_legend({"edges": edges, "nodes": []}, Words.of(two_way=False))
    assert [kind for kind, text in legend if "not in the list" in text] == ["pale opposes", "pale"]


def test_the_picture_of_the_graph_has_its_boxes_arrows_and_names() -> None:
    layout = graph_layout(reasons(HOSTILE, "in", "paris"), Words.of(two_way=False))
    picture = ElementTree.fromstring(layout_svg(layout))
    groups = [str(each.get("class")).split() for each in picture]
    assert sum("edge" in each for each in groups) == len(layout["edges"])
    assert sum("node" in each for each in groups) == len(layout["nodes"])
    signs = sorted(each[1] for each in groups if each[0] == "edge")
    assert signs == ["opposes", "predicted", "supports", "supports"]
    assert {"paris", "rome", "bob", "in"} <= {*picture.itertext()}


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        (
            ("ann", "in", "ann"),  # a loop
            [
                fact(3, ("ann", "in", "rome"), 0.25, ("subject", "relation", "object")),
                fact(4, ("rome", "in", "ann"), 0.2, ("subject", "relation", "object")),
                fact(5, ("ann", "knows", "ann"), -0.1, ("subject", "object")),
                fact(6, ("bob", "in", "rome"), 0.1, ("relation",)),
            ],
        ),
        (
            ("ann", "in", "paris"),  # facts that are loops
            [
                fact(3, ("ann", "knows", "ann"), 0.25, ("subject",)),
                fact(4, ("paris", "in", "paris"), -0.2, ("relation", "object")),
                fact(5, ("paris", "in", "ann"), 0.1, ("subject", "relation", "object")),
            ],
        ),
        (
            ("7", None, "7"),  # a user and an item of the same name
            [
                fact(3, ("7", None, "9"), 0.25, ("subject",), rating=5.0),
                fact(4, ("8", None, "7"), -0.2, ("object",), rating=4.0),
                fact(5, ("8", None, "9"), 0.1, (), rating=4.0),
            ],
        ),
    ],
)
def test_every_edge_of_the_graph_has_two_ends(
    names: tuple[str, str | None, str], facts: list[Any]
) -> None:
    found = graph_layout(made(explanation(names, facts)), Words.of(two_way=names[1] is None))
    nodes = {node["id"]: node for node in found["nodes"]}
    assert len(nodes) == len(found["nodes"])
    assert {edge["id"] for edge in found["edges"]} == {
        "prediction",
        *(f"fact-{each['fact_id']}" for each in facts),
    }
    for edge in found["edges"]:
        source, target = nodes[edge["source"]], nodes[edge["target"]]
        assert source["x"] != target["x"]
        for node in (source, target):
            assert abs(edge["y"] - node["y"]) <= node["height"] / 2


def test_what_if_is_asked_of_a_method_that_removes_several_facts() -> None:
    retrained = replace(reasons(), method="verified", estimate=False, reliability=None)
    view = view_of(
        why_page(SITE, WhyAddress("ann", "in", "paris"), Reasons(retrained, answers("rome")))
    )
    assert view["about"]["method"] == view["check"]["method"] == "rollback"
    assert view["smallest"].get("method") is None
    assert view["names_tops"] is False  # nobody knows if top answers that rollback names come true


def test_a_result_for_other_facts_says_so() -> None:
    done = verdict(stand(0.5, "a"), stand(0.4, "a"), stand(0.41, "a"))
    job = JobView("x", "toy", "verify", "done", {}, result=done)
    for without, is_marked in (((2, 1), False), ((1,), True), ((), True)):
        asked = WhyAddress("ann", "in", "paris", without=without)
        page = why_page(SITE, asked, Reasons(reasons(), answers("paris"), job=job))
        assert "This result is for other facts" in page
        assert ("data-other hidden>" in page) != is_marked
        assert "Confirmed" in page


def checked(names: tuple[str, str | None, str], **changes: Any) -> JobView:
    """A check of a prediction, whose probability falls and whose top answer changes."""
    done = verdict(stand(0.5, names[2]), stand(0.4, names[2]), stand(0.3, "oslo"), **changes)
    places = dict(zip(("subject", "relation", "object"), names, strict=True))
    about = replace(done.prediction, **places, labels={**places, "top_answer": names[2]})
    return JobView("x", "toy", "verify", "done", {}, result=replace(done, prediction=about))


def test_what_retraining_showed_leads_the_page_and_names_its_facts() -> None:
    found = Reasons(reasons(), answers("paris"), job=checked(("ann", "in", "paris")))
    page = why_page(SITE, WhyAddress("ann", "in", "paris", without=(1, 2)), found)
    text = read_page(page).text
    said = "Without these 2 facts the model says OSLO, not PARIS. retrained"
    assert text.index("ann in paris") < text.index(said) < text.index("What the model says")
    assert "The result below was measured by retraining." in text
    assert "All other numbers are estimates by rollback." in text
    assert "Removed: a r b a r b" in text
    assert "/runs/toy/entity?name=b&amp;place=object" in page
    proven = {"facts": [1, 2], "before": 0.5, "value": 0.3, "top_name": "oslo", "top": "OSLO"}
    assert view_of(page)["proof"] == proven


def test_what_retraining_showed_of_another_prediction_does_not_lead() -> None:
    found = Reasons(reasons(), answers("paris"), job=checked(("ann", "in", "rome")))
    page = why_page(SITE, WhyAddress("ann", "in", "paris", without=(1, 2)), found)
    assert "the model says" not in read_page(page).text.lower().split("what the model says")[0]
    assert view_of(page)["proof"] is None


def test_removed_ratings_are_named_with_their_item() -> None:
    mine = {"fact_id": 1, "subject": "7", "relation": None, "object": "9", "influence": 0.1}
    mine |= {"labels": {"subject": "7", "relation": None, "object": "Heat"}, "rating": 5.0}
    job = checked(("7", None, "50"), removed=[1], facts=[mine])
    page = why_page(
        SITE,
        WhyAddress("7", "", "50", without=(1,)),
        Reasons(rated(), answers("50", relation=None), job=job),
    )
    text = read_page(page).text
    assert (
        "Without the rating of Heat the model recommends OSLO first, not item 50. retrained" in text
    )
    assert "Removed: Heat , rated 5" in text
    assert "Removed: Heat , rated 5" in read_page(jobs_page(Site(), [job])).text


def test_downloads_carry_what_the_page_shows() -> None:
    asked = WhyAddress("ann", "in", "paris", top=5, without=(3, 5))
    found = read_page(why_page(SITE, asked, Reasons(reasons(), answers("paris"))))
    links = {link for link in found.links if "/explanation?" in link}
    assert len(links) == 4
    for link in links:
        query = parse_qs(urlsplit(link).query)
        assert (query["opposing"], query["without"], query["top"]) == (["both"], ["3,5"], ["5"])


def test_a_list_that_fails_says_so_in_its_place() -> None:
    page = ask_page(SITE, AskAddress(), two_way=False, kind="unstable", error="needs a trace")
    before, inside = page.split('<div id="list"')
    assert "needs a trace" not in before
    assert "needs a trace" in inside
    assert LISTS["unstable"][1] in inside
    assert LISTS["confident-and-wrong"][1] not in inside
    assert "data-source" not in inside


def test_confident_and_wrong_ratings_are_far_from_the_true_ones() -> None:
    page = ask_page(SITE, AskAddress(), two_way=True, rated=True)
    assert re.search(r"predicted ratings? .*true one", page)
    assert LISTS["confident-and-wrong"][1] not in page


def test_long_relations_are_short_in_lists() -> None:
    long = "/film/actor/film./film/performance/film"
    assert short_relation(long) == "…/performance/film"
    assert short_relation("embassy") == "embassy"


def test_the_first_page_tells_runs_apart() -> None:
    about = {"model": "mf", "dataset": "films", "n_facts": 1234, "created": "2026-11-16T17:47:02"}
    metrics = {"valid": {"mrr": 0.1}, "test": {"mrr": 0.25, "hits@3": 0.4, "hits@10": 0.5}}
    text = read_page(runs_page({"a": about | {"metrics": metrics}, "b": about})).text
    assert "mf on films 1,234 training facts, 2026-11-16" in text
    assert text.count("MRR 25.0%, Hits@10 50.0% on the test set") == 1


def test_a_click_says_what_it_costs_and_is_off_if_the_server_would_stop_it() -> None:
    def opened(seconds: float | None, *, compiles: bool = False) -> str:
        prices = Prices(seconds, job_seconds=1800, compiles=compiles)
        found = Reasons(reasons(), answers("paris"), prices=prices)
        return why_page(SITE, WhyAddress("ann", "in", "paris"), found)

    page = opened(0.01)
    text = read_page(page).text
    assert "changes the answer up to 60 retrainings, about " in text
    assert "Check by retraining about 0.1 s" in text
    assert not re.search(r"<button[^>]* disabled", page)
    assert "compiling" not in text
    assert "the first time, compiling takes some minutes more" in opened(0.01, compiles=True)
    page = opened(50_000.0)
    assert re.findall(r"<button[^>]*data-(\w+) disabled", page) == ["smallest", "check"]
    assert "this server stops work after 30 min" in page
    assert "retrainings, about" not in read_page(opened(None)).text


@pytest.mark.parametrize(("method", "n_fewer"), [("unrolled", 0), ("rollback", 24)])
def test_the_price_of_measuring_counts_every_retraining(method: str, n_fewer: int) -> None:
    methods = [*dict.fromkeys([method, "rollback", "random"])]
    task = view_of(why_page(SITE, WhyAddress(), Reasons(reasons(), answers("paris"))))["measure"]
    asked = EvaluateOptions(methods=methods, protocols=task["protocols"], limit=task["limit"])
    size = SampleSize(task["limit"], 10_000, 5_000, method)
    found = count_retrainings(task["protocols"], asked, size)
    assert found == RETRAININGS["measure"] - n_fewer


def test_jobs_have_labels_and_those_of_the_reader_come_first() -> None:
    asked = {"subject": "405", "object": "144"}
    mine = JobView("x", "films", "explain", "running", asked, labels={"object": "Heat"})
    names = {"subject": "/m/1", "relation": "/people/person/nationality/of/country", "object": ""}
    other = JobView("y", "a", "verify", "running", names, labels={"subject": "Ann"}, mine=False)
    page = jobs_page(Site(), [other, mine])
    text = read_page(page).text
    assert text.index("user 405, Heat yours") < text.index("Ann …/of/country")
    assert page.count(">Cancel</button>") == page.count(">yours<") == 1
    assert 'run <a href="/runs/films/ask">films</a>' in page
