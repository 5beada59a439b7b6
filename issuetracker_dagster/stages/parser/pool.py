"""Killable processes for what strangers wrote: a page may burn its CPU budget or crash its reader, never the shift."""

import logging
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from typing import Protocol

from pebble import ProcessExpired, ProcessFuture, ProcessPool
from selectolax.lexbor import SelectolaxError

from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.reading import PageReading, PageRequest, read_page

logger = logging.getLogger(__name__)

_processes = multiprocessing.get_context("forkserver")
_WATCH_S = 1.0
_TALKATIVE = ("trafilatura", "htmldate", "readability", "charset_normalizer")
_PATIENCE = 4
"""How many wall budgets a page may wait for the pages before it."""
_STARTUP_S = 30.0
"""How long a new process may take to its first page, on a machine with other things to do."""


class ExtractorCrashed(TransientError):
    """The process died over the page: killed for memory by the system, or by a fault in a C library."""


class PageReader(Protocol):
    """Reads pages; called from several threads at once."""

    def read(self, request: PageRequest) -> PageReading: ...

    def close(self) -> None: ...


class InProcessReader:
    """Reads in the caller's own thread, without a budget: for trusted pages and one-off commands."""

    def read(self, request: PageRequest) -> PageReading:
        return read_page(request)

    def close(self) -> None:
        """Nothing to let go of."""


class ExtractionPool:
    """A few processes that live for many pages, forked off a server that has imported what reads them (decision 0200).
    The server takes about a second to start, so it starts ahead."""

    def __init__(self, options: ParserOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._closed = False
        self._pool: ProcessPool | None = None
        # One page a process and no more: a page that waits in pebble's pipe blocks its threads, also while it stops.
        self._free = threading.BoundedSemaphore(options.processes)
        self._awaited: dict[ProcessFuture[PageReading], ProcessPool] = {}

    def start(self) -> None:
        """Start the server now instead of at the first page; returns at once."""
        _prepare_server()
        forkserver.ensure_running()

    def read(self, request: PageRequest) -> PageReading:
        """Read one page in another process.

        Raises what `read_page` raises; `PermanentError` (`too_complex`) over the CPU budget or out of memory;
        `ExtractorCrashed` when the process died otherwise; `TransientError` when it was stuck without using the
        processor, which is this machine's fault and not the page's, and when the pool is closed.
        """
        if not self._free.acquire(timeout=self._options.wall_budget_s * _PATIENCE):
            raise TransientError("every extraction process was busy for too long")
        try:
            return self._read_twice(request)
        finally:
            self._free.release()

    def close(self) -> None:
        """Kill the processes; pages in hand fail with a `TransientError`."""
        with self._lock:
            self._closed = True
            pool = self._pool
        if pool is not None:
            self._drop(pool)

    def _read_twice(self, request: PageRequest) -> PageReading:
        try:
            return self._read(request)
        except BrokenProcessPool:
            # A process died between two pages; pebble then gives up the pool and whatever waited in it.
            pass
        try:
            return self._read(request)
        except BrokenProcessPool as error:
            raise ExtractorCrashed(f"the extraction pool broke twice: {error}") from None

    def _read(self, request: PageRequest) -> PageReading:
        pool, future = self._schedule(request)
        try:
            reading = future.result(self._options.wall_budget_s + _STARTUP_S)
        except ProcessExpired as error:
            raise self._judged(error, request) from None
        except CancelledError:
            raise TransientError("the extraction pool was stopped over the page") from None
        except FutureTimeout:
            if not future.done():
                # Not even begun: pebble times a page from its start, and would let these processes hang for ever.
                self._drop(pool)
            raise TransientError(f"no answer from extraction within {self._options.wall_budget_s:g} s") from None
        except BrokenProcessPool:
            self._drop(pool)
            raise
        finally:
            with self._lock:
                self._awaited.pop(future, None)
        return reading

    def _schedule(self, request: PageRequest) -> tuple[ProcessPool, ProcessFuture[PageReading]]:
        with self._lock:
            if self._closed:
                raise TransientError("the extraction pool is closed")
            if self._pool is None or not self._pool.active:
                self._pool = self._new_pool()
            future = self._pool.schedule(
                _read_within, args=(request, self._options.cpu_budget_s), timeout=self._options.wall_budget_s
            )
            self._awaited[future] = self._pool
            return self._pool, future

    def _new_pool(self) -> ProcessPool:
        options = self._options
        _prepare_server()
        return ProcessPool(
            max_workers=options.processes,
            max_tasks=options.pages_per_process,
            initializer=_prepare,
            initargs=(options.memory_limit_bytes,),
            # A fork of the shift itself would take the locks and connections of its threads along.
            context=_processes,
        )

    def _drop(self, pool: ProcessPool) -> None:
        """Kill the pool's processes and wake whoever waits for it; the next page starts another, unless closed."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
            orphans = [future for future, owner in self._awaited.items() if owner is pool]
        # Cancelled first: pebble closes its pipes under its own threads, and waiters would get whatever that raises.
        # A list, since pebble leaves these methods untyped.
        ends: list[Callable[[], object]] = [*(future.cancel for future in orphans), pool.stop, pool.join]
        for end in ends:
            end()

    def _judged(self, error: ProcessExpired, request: PageRequest) -> Exception:
        url = request.url
        if error.exitcode == -signal.SIGPROF:
            logger.warning("a page took too much processor time", extra=action("extract.too_complex", url=url))
            # A rule's selectors run on the same budget, and one of them may be what is too much.
            by = f", read by the selectors of rule {request.rule.rule_id}" if request.rule else ""
            took = f"extraction took more than {self._options.cpu_budget_s:g} s of processor time{by}"
            return PermanentError(took, code="too_complex")
        logger.warning("an extraction process died", extra=action("extract.crashed", url=url, exitcode=error.exitcode))
        return ExtractorCrashed(f"the extraction process died with exit code {error.exitcode}")


def _prepare_server() -> None:
    """Have the server, if it isn't running yet, import this module with all that it needs before it forks."""
    # Not when this is imported: the list is one for the whole process, and others may have a use for the server, too.
    _processes.set_forkserver_preload([__name__])


def _prepare(memory_limit_bytes: int) -> None:
    for name in _TALKATIVE:
        # Their complaints about single pages would fill the shift's output; what they can't read shows in the result.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory_limit_bytes, hard))
    shift = multiprocessing.parent_process()
    if shift is not None:
        threading.Thread(target=_die_with, args=(shift, os.getppid()), name="shift-watch", daemon=True).start()


def _die_with(shift: BaseProcess, server: int) -> None:
    """End when the shift is gone, also by kill -9, which leaves nobody to stop this process; or the server that forked
    it, without which the pool takes it for dead.
    """
    while shift.is_alive() and os.getppid() == server:
        shift.join(_WATCH_S)
    os._exit(1)


def _read_within(request: PageRequest, cpu_budget_s: float) -> PageReading:
    """Read one page; past its processor time the kernel kills this process with SIGPROF, even inside C code."""
    signal.setitimer(signal.ITIMER_PROF, cpu_budget_s)
    try:
        return read_page(request)
    except (MemoryError, RecursionError, SelectolaxError) as error:
        # Its tree builder takes any bytes; what it can't do is go on without memory.
        raise PermanentError(f"extraction gave up: {type(error).__name__}", code="too_complex") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
