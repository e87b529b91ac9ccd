"""Errors that users see."""


class WhereofError(Exception):
    """Bad input: what is wrong, what is allowed, and what to do."""


class Interrupted(WhereofError):
    """The work was stopped on request and can be continued."""


class Diverged(WhereofError):
    """The loss or the parameters are no longer finite. Resuming would end there again."""
