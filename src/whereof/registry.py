"""Find models, methods and protocols by name: ours and those of installed packages.

Every kind has a group, such as `whereof.methods`. A package adds an object with an entry point in
that group. Ours are listed here in the same form, so they are found without installation.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pkgutil import resolve_name
from typing import Any

from whereof.errors import WhereofError

METHODS = "whereof.methods"
PROTOCOLS = "whereof.protocols"
MODELS = "whereof.models"
RENDERERS = "whereof.renderers"
"""Functions that display objects of lower rooms, which must not import the room `present`."""

_MANY = 20
_NEAR = 0.7
"""Smallest similarity of a suggested name: `gpu` must not suggest `cpu`."""
_OURS: dict[str, dict[str, str]] = {
    METHODS: {
        "rollback": "whereof.explain.methods.rollback:ROLLBACK",
        "rollback-o": "whereof.explain.methods.rollback:ROLLBACK_O",
        "random": "whereof.explain.methods.random:RANDOM",
        "gradient-dot": "whereof.explain.methods.gradient:GRADIENT_DOT",
        "gradient-cos": "whereof.explain.methods.gradient:GRADIENT_COS",
        "tracin": "whereof.explain.methods.gradient:TRACIN",
        "influence-function": "whereof.explain.methods.influence_function:INFLUENCE_FUNCTION",
        "criage": "whereof.explain.methods.criage:CRIAGE",
        "unrolled": "whereof.retrain.methods.unrolled:UNROLLED",
        "verified": "whereof.retrain.methods.verified:VERIFIED",
        "retrain": "whereof.retrain.methods.retrain:RETRAIN",
        "fold-in": "whereof.explain.methods.fold_in:FOLD_IN",
    },
    PROTOCOLS: {
        "leave-one-out": "whereof.evaluate.protocols.leave_one_out:PROTOCOL",
        "steadiness": "whereof.evaluate.protocols.steadiness:PROTOCOL",
        "datamodelling": "whereof.evaluate.protocols.datamodelling:PROTOCOL",
        "kelpie": "whereof.evaluate.protocols.kelpie:PROTOCOL",
        "removal": "whereof.evaluate.protocols.removal:PROTOCOL",
        "approximation": "whereof.evaluate.protocols.approximation:PROTOCOL",
        "theory": "whereof.evaluate.protocols.theory:PROTOCOL",
    },
    MODELS: {
        "complex": "whereof.models.complex:MODEL",
        "distmult": "whereof.models.distmult:MODEL",
        "mf": "whereof.models.mf:MODEL",
        "mf-biased": "whereof.models.mf:BIASED",
        "rescal": "whereof.models.rescal:MODEL",
        "rotate": "whereof.models.rotate:MODEL",
        "simple": "whereof.models.simple:MODEL",
        "transe": "whereof.models.transe:MODEL",
        "transe-l2": "whereof.models.transe:L2",
    },
    RENDERERS: {
        "audit-file": "whereof.present.files:write_suspicious",
        "audit-html": "whereof.present.audit:audit_html",
        "audit-words": "whereof.present.audit:audit_words",
        "evaluation-html": "whereof.present.report:evaluation_html",
        "explanation-file": "whereof.present.files:write_explanation",
        "explanation-html": "whereof.present.explanation:explanation_html",
        "explanation-page": "whereof.present.explanation:explanation_page",
        "explanation-plot": "whereof.present.explanation:plot_explanation",
        "impact-words": "whereof.present.impact:impact_words",
        "retrainings-file": "whereof.present.files:write_retrainings",
        "show": "whereof.present.notebook:show",
        "smallest-html": "whereof.present.smallest:smallest_html",
        "smallest-words": "whereof.present.smallest:smallest_words",
        "sufficient-words": "whereof.present.smallest:sufficient_words",
        "unlearned-words": "whereof.present.changed:unlearned_words",
        "updated-words": "whereof.present.changed:updated_words",
        "verdict-html": "whereof.present.verdict:verdict_html",
        "verdict-words": "whereof.present.verdict:verdict_words",
    },
}
"""For each group and name, where the object is: module:attribute."""


_ADDED: dict[tuple[str, str], Any] = {}
"""Objects of this process alone, by group and name."""


def add(group: str, name: str, thing: Any) -> None:
    """Add an object for this process, such as a model that a script declares."""
    _ADDED[group, name] = thing
    names.cache_clear()
    load.cache_clear()


def ours(group: str) -> tuple[str, ...]:
    """The names of a group that come with Whereof."""
    return tuple(_OURS[group])


@cache
def names(group: str) -> tuple[str, ...]:
    """All names of a group, ours first. Imports nothing."""
    added = {name for its_group, name in _ADDED if its_group == group}
    return (*_OURS[group], *sorted((added | _installed(group).keys()) - _OURS[group].keys()))


@cache
def load(group: str, name: str, kind: type) -> Any:
    """Load the object with this name and check its type."""
    if (group, name) in _ADDED:
        return _ADDED[group, name]
    if name in _OURS[group]:
        return resolve_name(_OURS[group][name])
    if name not in names(group):
        raise unknown(group.removeprefix("whereof.").removesuffix("s"), name, sorted(names(group)))
    found = _installed(group)[name].load()
    if not isinstance(found, kind):
        raise WhereofError(f"the entry point {name!r} of {group} is not a {kind.__name__}")
    return found


def render(name: str, *given: Any) -> Any:
    """Render an object with the renderer of this name, such as `explanation-html`."""
    return load(RENDERERS, name, object)(*given)


def unknown(noun: str, name: str, allowed: Iterable[str], remedy: str = "") -> WhereofError:
    """The error for an unknown name: it suggests the nearest one, and lists all if they are few."""
    allowed = [*allowed]
    near = get_close_matches(str(name), allowed, 1, _NEAR)
    remedy = remedy or f"choose from {', '.join(allowed)}"
    if near:
        remedy = f"did you mean {near[0]!r}? {remedy if len(allowed) < _MANY else ''}".strip()
    return WhereofError(f"unknown {noun} {name!r}; {remedy}")


@cache
def _installed(group: str) -> dict[str, Any]:
    from importlib.metadata import entry_points  # slow to import

    return {point.name: point for point in entry_points(group=group)}
