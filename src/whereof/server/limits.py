"""Limits of what one request or one client may ask for, and why."""

BODY_BYTES = 1 << 16
"""Of a request. The largest one lists `FACTS` fact ids, which takes about 10 kB."""
NAME_LETTERS = 1000
"""Of a name in a request: names of knowledge bases are web addresses, and shorter than this."""
ANSWERS = 1000
"""Ranked answers in one response: more than anybody reads."""
FACTS = 1000
"""Facts in one explanation, or removed together: a response stays below a megabyte."""
NAMES = 50
"""Names that complete a text, and predictions that are worth a look."""

RETRAININGS = 500
"""Of one job: with the default training of Nations this takes some minutes."""
BUDGET_SECONDS = 600
"""Of one job whose budget is a time."""
SEEDS = 5
"""Of one job: every seed trains a run first."""
PREDICTIONS = 200
"""Of one evaluation."""
JOB_SECONDS = 1800
"""After this time a job is stopped, so that others get their turn. Its retrainings are kept."""

JOBS_AT_ONCE = 2
"""Jobs that run at the same time. Each uses all cores: a second one is there so that a check of a
second does not wait for an evaluation of half an hour."""
JOBS_OF_A_CLIENT = 5
"""Jobs of one client that wait or run."""
JOBS_WAITING = 50
"""Jobs of all clients that wait."""
JOBS_KEPT = 100
"""Finished jobs whose results stay in memory. Retrainings are in the run's folder anyway."""
NOTES = 50
"""Notes of one job that are kept, the latest ones."""
