"""Why: a prediction in plain words, its facts, the explanation graph, and what if."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from whereof.explain.explanation import ExplainedFact, Explanation, MethodCost
from whereof.explain.method import able_method, get_method
from whereof.predict.answers import Answer, Answers
from whereof.present import names, sentence
from whereof.present.explanation import groups_text, trust_text
from whereof.present.fact_table import ExplainedFacts, fact_table, words_of
from whereof.present.html import Site, render
from whereof.present.names import SPLITS, Words
from whereof.present.pages.address import WhyAddress, address, answer_query, api_address
from whereof.present.pages.ask import largest
from whereof.present.pages.jobs import JobView, RetrainedResult
from whereof.present.pages.layout import graph_layout, graph_legend, layout_svg
from whereof.present.pages.price import MEASURE, RETRAININGS, Prices
from whereof.retrain.smallest import Smallest
from whereof.units import show, typographic

_TRUST = {
    "exact": "measured by retraining.",
    "close": "in this run, estimates have about the size that retraining shows.",
    "rough": "the order of the facts is useful; the sizes can be far off.",
    "not measured": "in this run, no retraining has checked these estimates.",
}
"""What the words for the trust in a method mean."""
_MOST_TRUE = 3
"""Number of other answers of the test set to name."""


@dataclass(frozen=True)
class Reasons:
    """What a page says about a prediction."""

    explanation: Explanation
    """With the facts of both signs if both were asked for, and with its graph."""
    answers: Answers
    """The top new answers to the same query."""
    true: Answers | None = None
    """Answers of the test set to the same query."""
    left_out: Sequence[ExplainedFact] = ()
    """The facts that the address leaves out."""
    left_out_by: str = ""
    """The method that estimated them."""
    problem: str = ""
    """Why there is no estimate without the facts that the address leaves out."""
    job: JobView | None = None
    """A job of this page."""
    closer: str = ""
    """The method that was asked for, if it takes longer than a click: a job computes it."""
    again: str = ""
    """The kind of a job whose result the address names, and that the server no longer knows."""
    ready: Mapping[str, bool] = field(default_factory=dict)
    """Whether a method takes milliseconds, or has its arrays stored."""
    scale: tuple[float, float] | None = None
    """The lowest and the highest rating of the data; None without ratings."""
    rating: float | None = None
    """The rating that the user gave to the item."""
    prices: Prices = field(default_factory=Prices)
    """What retraining costs here."""


def why_page(site: Site, page: WhyAddress, found: Reasons) -> str:
    """The page."""
    explanation, prediction = found.explanation, found.explanation.prediction
    words = words_of(explanation)
    here = _named(page, explanation)
    title = _text(prediction, words)
    proof, table = (
        _proof(found),
        fact_table(
            explanation,
            note=False,
            removed=page.without,
            left_out=found.left_out,
            left_out_by=found.left_out_by,
        ),
    )
    graph = graph_layout(explanation, words)
    return render(
        "why",
        f"{title} · why",
        site,
        ["why.js"],
        words=words,
        page=page,
        here=here.query(),
        heading=words.parts(prediction),
        sentence=_sentence(found, words),
        because=sentence.because(explanation),
        against=sentence.against(explanation),
        standing=_standing(site, found, words),
        explanation=explanation,
        proof=proof,
        trust=list(_trust(explanation, proof)),
        measurable=_measurable(explanation),
        prices={
            name: found.prices.of(n, up_to=name == "smallest", follows=name != "check")
            for name, n in RETRAININGS.items()
        },
        methods=list(_methods(site, here, found)),
        meanings=_TRUST,
        table=table,
        filters=_filters(table),
        notes=[*explanation.notes, *map(typographic, groups_text(explanation))],
        problem=found.problem,
        job=found.job,
        other_facts=_is_about_others(found.job, page),
        action=address(site.run, "why"),
        closer=_closer_text(page, found),
        downloads=_downloads(site, here, explanation),
        compare="/compare?a=" + _escaped(site, here),
        legend=graph_legend(graph, words),
        picture=Markup(layout_svg(graph)),  # it escapes every name itself
        view=_view(site, here, found, words) | {"proof": _proven(proof), "graph": graph},
    )


def _closer_text(page: WhyAddress, found: Reasons) -> str:
    """What a job computes while the page shows quick estimates."""
    if not found.closer:
        return ""
    return f"The method {found.closer}" if page.method else f"A closer estimate by {found.closer}"


def _proof(found: Reasons) -> RetrainedResult | None:
    """What retraining showed for the prediction of the page."""
    result, mine = None if found.job is None else found.job.found, found.explanation.prediction
    if result is None:
        return None
    other, places = result.result.prediction, ("subject", "relation", "object", "asks")
    same = all(getattr(other, place) == getattr(mine, place) for place in places)
    return result if same else None


def _proven(proof: RetrainedResult | None) -> dict[str, Any] | None:
    """What retraining showed, for the script of the page."""
    if proof is None:
        return None
    result, asks = proof.result, proof.result.prediction.asks
    actual = result.actual
    return {
        "facts": [*result.removed],
        "before": result.before.value,
        "value": actual.value,
        "top_name": actual.top_answer,
        "top": proof.words.label(actual.top_answer, actual.top_label, asks),
    }


def _is_about_others(job: JobView | None, page: WhyAddress) -> bool:
    """Whether retraining left out other facts than the address does."""
    removed = job.found.result.removed if job is not None and job.found is not None else ()
    return bool(removed) and {*removed} != {*page.without}


def _named(page: WhyAddress, explanation: Explanation) -> WhyAddress:
    """The address with the names that were found, for links."""
    found = explanation.prediction
    relation = found.relation or ""
    return replace(
        page, subject=found.subject, relation=relation, object=found.object, asks=found.asks
    )


def _text(item: Any, words: Words) -> str:
    return " ".join(label for _, label, _ in words.parts(item))


def _sentence(found: Reasons, words: Words) -> str:
    """What the explanation says, in plain words."""
    # The page marks it.
    said = sentence.plain_sentence(found.explanation, mark=False, scale=found.scale)
    return said or f"No {words.fact} was found that changes this prediction."


def _standing(site: Site, found: Reasons, words: Words) -> dict[str, Any]:
    prediction, answers = found.explanation.prediction, _with_known(found)
    own = names.name_of(prediction, prediction.asks)
    known, others, most = SPLITS.get(prediction.known or "", ""), [], largest(answers)
    for each in answers.answers:
        others.append(
            {
                "label": words.label(each.entity, each.label, answers.asks),
                "value": names.value_text(each, found.scale),
                "share": None if each.probability is None else each.probability / most,
                "own": each.entity == own,
                "known": SPLITS.get(each.known or "", ""),
                "why": _why(site, answers, each),
            }
        )
    return {
        "noun": "predicted rating" if names.is_rated(prediction) else "probability",
        "value": names.value_text(prediction, found.scale),
        "rating": "" if found.rating is None else names.rating_text(found.rating, found.scale),
        "is_top": prediction.top_answer == own,
        "true_in": known,
        "rank": names.rank_text(prediction),
        "known": "" if any(each["own"] for each in others) or not prediction.is_new else known,
        "scale": _scale_text(found),
        "others": others,
        "true": list(_true(site, found, words)),
        "also": "also " * (prediction.known is not None),
    }


def _with_known(found: Reasons) -> Answers:
    """The top answers; a known answer that the page is about stands where it would be."""
    mine, answers = found.explanation.prediction, found.answers
    if mine.is_new or mine.rank > len(answers.answers):
        return answers
    name, label = names.name_of(mine, mine.asks), names.label_of(mine, mine.asks)
    own = Answer(name, label, mine.probability, mine.score or 0.0, mine.rank, mine.known)
    every = [*answers.answers]
    every.insert(mine.rank - 1, own)
    return replace(answers, answers=tuple(every))


def _scale_text(found: Reasons) -> str:
    """Why a rating is beyond those of the data, if one is."""
    shown = [found.explanation.prediction.value, *(each.score for each in found.answers.answers)]
    is_rated = names.is_rated(found.explanation.prediction)
    return names.scale_text(shown, *found.scale) if found.scale and is_rated else ""


def _why(site: Site, answers: Answers, answer: Answer) -> str:
    """The address of the page of an answer."""
    return address(site.run, "why", **answer_query(answers.query, answers.asks, answer.entity))


def _true(site: Site, found: Reasons, words: Words) -> Iterator[dict[str, str]]:
    """What the test set says instead, or also if the prediction is itself in the data."""
    prediction, answers = found.explanation.prediction, found.true
    own = names.name_of(prediction, prediction.asks)
    others = [] if answers is None else [each for each in answers.answers if each.entity != own]
    is_guess = prediction.known is None
    for each in others[:_MOST_TRUE]:
        label = words.label(each.entity, each.label, prediction.asks)
        yield {
            "label": label,
            "stands": f"{show(each.probability, 'chance')}, rank {each.rank:,}",
            "asks": f"Why {'not ' * (is_guess and each.rank > prediction.rank)}{label}?",
            "why": _why(site, answers, each) if answers is not None else "",
        }


def _trust(explanation: Explanation, proof: RetrainedResult | None) -> Iterator[str]:
    """How far to trust the numbers, in sentences."""
    method = explanation.method
    if not explanation.estimate:
        yield "These numbers are measured by retraining."
    elif proof is None:
        yield f"These numbers are estimates by {method}: no retraining has confirmed them."
    else:
        searched = isinstance(proof.result, Smallest) and proof.result.method == method
        same = ", which also chose the facts to try" * searched
        yield (
            "The result below was measured by retraining. All other numbers are estimates by "
            f"{method}{same}."
        )
    yield from _reliability(explanation)


def _reliability(explanation: Explanation) -> Iterator[str]:
    """How reliable estimates of this run are: those of the page's method, else of all others."""
    known, method = explanation.reliability, explanation.method
    if known is None or not known.is_measured:
        if explanation.estimate:
            yield "The reliability of estimates in this run has not been measured."
        return
    own = known.of(method)
    if own is not None:
        yield str(own)
        return
    if explanation.estimate:
        yield f"The reliability of {method} in this run has not been measured."
    yield from map(str, known.claims or [known.linearity])


def _measurable(explanation: Explanation) -> bool:
    """Whether the reliability of the run is not known, and can be measured by retraining."""
    known = explanation.reliability
    return bool(explanation.costs) and known is not None and known.linearity is None


def _methods(site: Site, here: WhyAddress, found: Reasons) -> Iterator[dict[str, Any]]:
    explanation, ready = found.explanation, found.ready
    costs = explanation.costs or (MethodCost(explanation.method, None, "rough"),)
    for each in costs:
        seconds, is_current = each.seconds, each.method == explanation.method
        time = "milliseconds"
        if seconds is not None:
            is_ready = is_current or ready.get(each.method)
            follows = "sweep" in get_method(each.method).can
            time = f"about {show(seconds, 'seconds')}{found.prices.compiling(follows)}"
            time = "ready" if is_ready else time
        possible = ready.get(each.method) or not found.prices.too_long(seconds)
        yield {
            "name": each.method,
            "phrase": get_method(each.method).in_words,
            "about": f"{time}, {trust_text(each)}",
            "recommended": bool(possible) and each.method == explanation.recommended,
            "current": is_current,
            "href": address(site.run, "why", **here.query(method=each.method)) if possible else "",
        }


def _filters(table: ExplainedFacts) -> list[tuple[str, str, list[str]]]:
    """Key, title and values of what the facts can be filtered by."""
    rows, found = table.rows, []
    for key, title in (("relation", "relation"), ("role", "in common"), ("source", "source")):
        values = sorted({row[key] for row in rows if row[key]})
        if len(values) > 1 and not (table.words.two_way and key == "role"):
            found.append((key, title, values))
    return found


def _closer(here: WhyAddress, found: Reasons) -> dict[str, Any] | None:
    """The job that computes the method that was asked for, if it takes longer than a click."""
    if not found.closer:
        return None
    task = _task(here, "explain", found.closer) | ({"of": here.of} if here.of else {})
    if not here.method:
        task["unasked"] = True
    if not get_method(found.closer).retrains:  # the run stores what it prepares
        return task
    signs = {"true": True, "false": False}
    return task | {"top": here.top, "opposing": signs.get(here.opposing, "both")}


def _task(page: WhyAddress, kind: str, method: str) -> dict[str, Any]:
    """The body of a request for a job."""
    task = {"kind": kind, "subject": page.subject, "object": page.object, "asks": page.asks}
    if page.relation:
        task["relation"] = page.relation
    if method:
        task["method"] = method
    return task


def _downloads(
    site: Site, here: WhyAddress, explanation: Explanation
) -> list[tuple[str, str, str]]:
    """Format, address and name of each file."""
    query = {
        **{name: getattr(here, name) for name in ("subject", "relation", "object", "of", "top")},
        "method": explanation.method,
        "asks": here.asks,
        "opposing": here.opposing,
        "without": ",".join(map(str, here.without)),
    }
    formats = {"JSON": {}, "CSV": {}, "SVG": {"graph": "true"}, "HTML": {"graph": "true"}}
    return [
        (
            name,
            api_address(site.run, "explanation", **query, format=name.lower(), **more),
            names.file_name("explanation", explanation.prediction, name.lower()),
        )
        for name, more in formats.items()
    ]


def _escaped(site: Site, here: WhyAddress) -> str:
    from urllib.parse import quote, urlencode

    return quote(urlencode({"run": site.run, **here.query()}), safe="")


def _view(site: Site, here: WhyAddress, found: Reasons, words: Words) -> dict[str, Any]:
    """What the script of the page needs."""
    explanation, prediction = found.explanation, found.explanation.prediction
    remover = able_method("groups", explanation.method).name
    check, smallest = _task(here, "verify", remover), _task(here, "smallest", "")
    smallest |= {"role": "subject"} if prediction.relation is None else {}
    jobs = {"smallest": smallest}
    if here.without:
        jobs["verify"] = check | {"facts": [*here.without]}
    about = {name: value for name, value in check.items() if name != "kind"}
    return {
        "estimate": api_address(site.run, "estimate"),
        "jobs": api_address(site.run, "jobs"),
        "entity": address(site.run, "entity"),
        "about": about | ({"of": here.of} if here.of else {}),
        "closer": _closer(here, found),
        "again": jobs.get(found.again),
        "rated": names.is_rated(prediction),
        "noun": names.output_noun(prediction),
        "fact": words.fact,
        "picture": names.file_name("explanation", prediction, "png"),
        "check": check,
        "smallest": smallest,
        "measure": MEASURE,
        "before": prediction.value,
        "top": words.label(prediction.top_answer, prediction.top_label, prediction.asks),
        "top_name": prediction.top_answer,
        "names_tops": sentence.names_joint_tops(explanation),
    }
