"""The application: routes, errors and security around the runs that are served."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from whereof._version import __version__
from whereof.api.run import Run
from whereof.present.html import STATIC, static_root
from whereof.server import about, ask, audit, compare, jobs, why
from whereof.server.kept import kept_audits
from whereof.server.queue import JobQueue
from whereof.server.responses import handle_errors
from whereof.server.security import Security

_THREADS = max(4, os.cpu_count() or 1)
"""Requests that are computed at the same time. More threads would only wait for each other."""


def create_app(
    runs: Mapping[str, Run], token: str | None = None, *, insecure: bool = False
) -> FastAPI:
    """The application that serves runs by their ids.

    With a token, every request needs it. Without one, only requests to this machine's own names
    are answered, unless `insecure` is set.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        with app.state.jobs:
            yield

    app = FastAPI(
        title="Whereof",
        version=__version__,
        summary="Which training facts a prediction is made of",
        openapi_url="/api/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    kept = (job for run_id, run in runs.items() for job in kept_audits(run_id, run))
    app.state.runs, app.state.jobs = dict(runs), JobQueue(kept=kept)
    for page in (about, ask, why, audit, compare, jobs):
        app.include_router(page.router)
    app.mount(static_root(), StaticFiles(directory=STATIC))
    handle_errors(app)
    app.add_middleware(Security, token=token, insecure=insecure)
    return app
