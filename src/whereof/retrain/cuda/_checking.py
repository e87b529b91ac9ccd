"""Whether a card can train a problem, said before anything begins."""

from whereof.errors import WhereofError
from whereof.retrain.cuda._card import Card
from whereof.retrain.cuda._layout import Sizes, draw_bytes, plan_layout
from whereof.retrain.cuda._placing import Memory
from whereof.retrain.cuda._source import make_source
from whereof.training.problem import Problem


def check_problem(problem: Problem, card: Card, *, tracked: bool = False) -> None:
    """Refuse what a card's kernels do not know, or what it has no room for."""
    config = problem.config
    if config.batch_size > 1:
        raise WhereofError(
            f"a card trains fact by fact, not in batches of {config.batch_size}; "
            "choose batch_size 1, or leave out cuda"
        )
    if config.optimizer == "adam" and config.schedule != "constant":
        raise WhereofError(
            f"a card trains adam at a constant rate, not {config.schedule}; "
            "choose adam-lazy, or leave out cuda"
        )
    if draw_bytes(problem) > card.limits.block_bytes:
        raise WhereofError(
            f"{Sizes.of(problem).most - 1} independent negatives are too many for the card's "
            "shared memory; choose sampling distinct, or leave out cuda"
        )
    layout = plan_layout(Sizes.of(problem), card.limits)
    make_source(problem, layout, tracked=tracked)  # says what cannot be translated
    memory, free = Memory.of(problem, tracked=tracked), card.free_bytes()
    if not memory.n_models(free):
        needed = (memory.of_model + memory.shared) / 1e9
        raise WhereofError(
            f"a card needs {needed:.1f} GB for this, and has {free / 1e9:.1f} GB free; choose a "
            "lower dim, or leave out cuda"
        )
