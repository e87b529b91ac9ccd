"""Listeners that record all events and may stop the work."""

from whereof.events import Advanced, Event, Events, Foreseen, Note, Planned, TrainingAdvanced


class Recorded(Events):
    """Records events; asks to stop after `stop_after` of a kind."""

    def __init__(self, stop_after: float = float("inf"), kind: type[Event] = Advanced) -> None:
        self.events: list[Event] = []
        self._stop_after, self._kind = stop_after, kind

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def should_stop(self) -> bool:
        return sum(isinstance(each, self._kind) for each in self.events) >= self._stop_after

    @property
    def notes(self) -> list[str]:
        return [each.text for each in self.events if isinstance(each, Note)]

    @property
    def n_planned(self) -> list[int]:
        """Retrainings of every round."""
        return [each.n_retrainings for each in self.events if isinstance(each, Planned)]

    @property
    def n_foreseen(self) -> list[int]:
        return [each.n_retrainings for each in self.events if isinstance(each, Foreseen)]

    @property
    def n_known(self) -> list[int]:
        return [each.n_known for each in self.events if isinstance(each, Planned)]

    @property
    def done(self) -> list[tuple[int, int]]:
        """The progress at each event: done and total."""
        return [(each.n_done, each.n_total) for each in self.events if isinstance(each, Advanced)]


def stopping(stretches: int) -> Recorded:
    """Asks training to stop after a number of progress events."""
    return Recorded(stretches, TrainingAdvanced)
