"""Calls for the type checker: `make check` fails if one of these mistakes is not found.

An ignore that hides no error is an error itself. Nothing here is run.
"""

import whereof
from whereof.events import Events


def right(run: whereof.Run) -> None:
    trained = whereof.train("nations", dim=20, loss="softmax", negatives="all", threads=2)
    whereof.resume("runs/nations", threads=2)
    trained.explain("a", "b", None, top=3, method="rollback", events=Events())
    run.explain("a", "b", "c", method="retrain", engine="local", without=[1, 2])
    run.verify("a", "b", "c", top="all", each=True, seeds=2)
    run.evaluate(methods=["rollback"], k=[1, "all"], limit=10, threads=1)
    for _ in run.explain_many([("a", "b", "c")], of="score"):
        pass


def wrong(run: whereof.Run) -> None:
    whereof.train("nations", dims=20)  # type: ignore[call-arg]
    whereof.train("nations", dim="20")  # type: ignore[arg-type]
    whereof.train("nations", loss="softmx")  # type: ignore[arg-type]
    whereof.resume("runs/nations", dim=20)  # type: ignore[call-arg]
    run.explain("a", "b", "c", tops=3)  # type: ignore[call-arg]
    run.explain("a", "b", "c", watch=None)  # type: ignore[call-arg]
    run.explain_many([("a", "b", "c")], engine="local")  # type: ignore[call-arg]
    run.verify("a", "b", "c", graph=True)  # type: ignore[call-arg]
    run.evaluate(method="rollback")  # type: ignore[call-arg]
    run.retrain([[1]], top=3)  # type: ignore[call-arg]
