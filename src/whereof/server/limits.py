"""Limits of what one request or one client may ask for, and why."""

BODY_BYTES = 1 << 16
"""Size of a request. The largest request lists `FACTS` fact ids, which takes about 10 kB."""
BODY_SECONDS = 10.0
"""Time to send a request: a slow client does not hold a connection for ever."""
CONNECTIONS = 1000
"""Open connections, including those of pages that follow a job. Further ones get status 503."""
HEADER_BYTES = 1 << 15
"""Size of all headers of a request. The largest one is the cookie, or the address of a page."""
NAME_LETTERS = 1000
"""Length of a name in a request. Names in knowledge bases are web addresses, which are shorter."""
ANSWERS = 1000
"""Ranked answers in one response: more than anybody reads."""
FACTS = 1000
"""Facts in one explanation, or removed together: a response stays below a megabyte."""
NAMES = 50
"""Names that complete a text, and predictions that are worth a look."""

RETRAININGS = 1000
"""Retrainings of one job: enough for the exact influences of all adjacent facts in Nations, which
takes some minutes."""
BUDGET_SECONDS = 600
"""Longest budget of one job, if the budget is a time."""
SEEDS = 5
"""Seeds of one job. Every seed first trains a run."""
PREDICTIONS = 200
"""Predictions of one evaluation."""
JOB_SECONDS = 1800
"""After this time a job is stopped, so that others get their turn. Its retrainings are kept."""

JOBS_AT_ONCE = 2
"""Jobs that run at the same time. Each uses all cores. With two, a short check does not wait for
a long evaluation."""
LONG_SECONDS = 60
"""A job that may take longer is a long one. Only one long job runs at a time."""
JOBS_OF_A_CLIENT = 5
"""Jobs of one client that wait or run."""
JOBS_WAITING = 50
"""Jobs of all clients that wait."""
JOBS_KEPT = 100
"""Finished jobs whose results stay in memory. Retrainings are in the run's folder anyway."""
NOTES = 50
"""Notes of one job that are kept, the latest ones."""
