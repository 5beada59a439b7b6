"""The enrich stage between `validated` and `enriched`: whatever fails in here, the content goes on."""

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Content, ContentClaim, Enrichment
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.language_model import LanguageModel, ModelFailed
from issuetracker_dagster.ports.stores import Contents, Issues, MemberView
from issuetracker_dagster.stages.enrich.aging import age_issues
from issuetracker_dagster.stages.enrich.cluster import NearestIssueClusterer
from issuetracker_dagster.stages.enrich.extract import UNKNOWN_LANGUAGE, LocalExtractor
from issuetracker_dagster.stages.enrich.korean import korean_nouns
from issuetracker_dagster.stages.enrich.model_steps import ModelExtractor, ModelVerifier
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.rescore import Rescorer, evidence_among, sources_of
from issuetracker_dagster.stages.enrich.score import FormulaScorer, context_completeness
from issuetracker_dagster.stages.enrich.sources import source_of
from issuetracker_dagster.stages.enrich.steps import Extraction, Extractor, Placement, Score, Verifier
from issuetracker_dagster.stages.enrich.verify import OverlapVerifier

logger = logging.getLogger(__name__)

T = TypeVar("T")
NO_ISSUE = 0
_FIRST_ATTEMPT = 1


class EnrichHandler:
    """Enriches one content at a time, from several threads at once; repeating it changes nothing but times.

    `llm` takes steps 1 and 3 when given; the offline way takes over when it fails.
    """

    def __init__(
        self,
        contents: Contents,
        issues: Issues,
        clock: Clock,
        options: EnrichOptions | None = None,
        llm: LanguageModel | None = None,
    ) -> None:
        self._contents = contents
        self._issues = issues
        self._clock = clock
        self._options = options or EnrichOptions()
        self._uses_model = llm is not None
        self._extractors: list[tuple[str, Extractor]] = [
            ("extract", LocalExtractor(self._options, korean_nouns())),
        ]
        self._verifiers: list[tuple[str, Verifier]] = [("verify", OverlapVerifier())]
        if llm is not None:
            self._extractors.insert(0, ("extract:model", ModelExtractor(llm, self._options)))
            self._verifiers.insert(0, ("verify:model", ModelVerifier(llm)))
        self._clusterer = NearestIssueClusterer(issues, clock, self._options)
        self._scorer = FormulaScorer()
        self._rescorer = Rescorer(issues, self._scorer, self._options)
        self._aging = threading.Lock()
        self._aged_ms = 0

    def handle(self, payload: ContentRef, context: HandlerContext) -> Outcome:
        """Extract, cluster, verify, score; keep what was found and forward the content.

        A step that fails is named in `failed_steps` and the next ones do with what there is. Only a store that can't be
        reached gets a second attempt first (`TransientError`). Raises `PermanentError` (`content_missing`) when the
        content isn't stored.
        """
        content = self._contents.get(payload.content_id)
        if content is None:
            raise PermanentError(f"content {payload.content_id} isn't stored", code="content_missing")
        self._enrich(content, _Attempts(content.content_id, context.headers.attempt), anew=context.is_reparse)
        self._age_when_due()
        return Outcome(forward=payload)

    def close(self) -> None:
        """Nothing is held."""

    def _enrich(self, content: Content, attempts: "_Attempts", *, anew: bool) -> None:
        extraction = attempts.first_of(
            [(name, partial(step.extract, content)) for name, step in self._extractors],
            Extraction(language=content.language or UNKNOWN_LANGUAGE),
        )
        placement = attempts.first_of(
            [("cluster", partial(self._clusterer.place, content, extraction, anew=anew))], Placement(NO_ISSUE)
        )
        source = source_of(content.url, content.host)
        nobody: tuple[frozenset[str], Sequence[MemberView]] = (frozenset(), [])
        known, others = attempts.first_of([("members", partial(self._others, placement.issue_id, source))], nobody)
        claims = attempts.first_of(
            [(name, partial(step.verify, extraction.claims, others)) for name, step in self._verifiers],
            tuple(ContentClaim(text=claim) for claim in extraction.claims),
        )
        sources = known | {source}
        score = attempts.first_of(
            [("score", partial(self._score, content, extraction, claims, len(sources)))], Score(0.0, {}, "")
        )
        found = Enrichment(
            content_id=content.content_id,
            language=extraction.language,
            keywords=extraction.keywords,
            entities=extraction.entities,
            claims=claims,
            issue_id=placement.issue_id,
            trust=score.trust,
            factors=score.factors,
            rationale=score.rationale,
            failed_steps=attempts.failed,
            enriched_ms=self._clock.now_ms(),
        )
        keep = partial(self._keep, found, source, sources, placement.merged)
        if not attempts.first_of([("rescore", keep)], False):
            self._issues.save_enrichment(msgspec.structs.replace(found, failed_steps=attempts.failed))

    def _others(self, issue_id: int, source: str) -> tuple[frozenset[str], Sequence[MemberView]]:
        """The sources of an issue, and with their texts those of its members that others' claims are held against."""
        if issue_id == NO_ISSUE:
            return frozenset(), []
        members = self._issues.members(issue_id, with_texts=False)
        told = evidence_among(members, self._options.evidence_max)
        return sources_of(members), self._issues.views([view.content_id for view in told if view.host != source])

    def _score(
        self, content: Content, extraction: Extraction, claims: Sequence[ContentClaim], source_count: int
    ) -> Score:
        return self._scorer.score(claims, source_count, context_completeness(content, extraction))

    def _keep(self, found: Enrichment, source: str, sources: frozenset[str], merged: bool) -> bool:
        if found.issue_id == NO_ISSUE:
            self._issues.save_enrichment(found)
            return True
        # Under the lock nobody joins or merges, so a score can't be overwritten by one that knew fewer sources.
        with self._issues.lock_candidates(found.language):
            issue_id = found.issue_id
            members = self._issues.members(issue_id, with_texts=False)
            if all(member.content_id != found.content_id for member in members):
                # A merge has moved the content since it was placed.
                issue_id = next((view.issue_id for view in self._issues.views([found.content_id])), issue_id)
                members = self._issues.members(issue_id, with_texts=False)
            self._issues.save_enrichment(msgspec.structs.replace(found, issue_id=issue_id))
            before = sources_of([member for member in members if member.content_id != found.content_id])
            if merged or source not in before or before | {source} != sources:
                self._rescorer.rescore(issue_id, members, keep_judged=self._uses_model)
        return True

    def _age_when_due(self) -> None:
        if not self._aging.acquire(blocking=False):
            return
        try:
            now_ms = self._clock.now_ms()
            if now_ms - self._aged_ms >= self._options.aging_every_ms:
                self._aged_ms = now_ms
                age_issues(self._issues, now_ms, self._options)
        except TransientError as error:
            # Another worker or the next minute does it; the content in hand is done.
            logger.warning("issues can't be aged now: %s", error, extra=action("enrich.step_failed", step="age"))
        except Exception:
            # A bug in what concerns other contents mustn't hold this one back.
            logger.warning("issues can't be aged", exc_info=True, extra=action("enrich.step_failed", step="age"))
        finally:
            self._aging.release()


class _Attempts:
    """Tries the ways to do a step, best first, and remembers which failed."""

    def __init__(self, content_id: int, attempt: int) -> None:
        self._content_id = content_id
        self._attempt = attempt
        self._failed: list[str] = []

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(self._failed)

    def first_of(self, ways: Sequence[tuple[str, Callable[[], T]]], default: T) -> T:
        """What the first way that works returns, else `default`."""
        for name, way in ways:
            try:
                return way()
            except ModelFailed as error:
                self._note(name, error)
            except TransientError as error:
                if self._attempt == _FIRST_ATTEMPT:
                    raise
                self._note(name, error)
            except Exception as error:  # noqa: BLE001 - a bug in one step mustn't hold the content back
                self._note(name, error, traceback=error)
        return default

    def _note(self, name: str, error: Exception, traceback: Exception | None = None) -> None:
        self._failed.append(name)
        logger.warning(
            "step %s of content %d failed: %s: %s",
            name,
            self._content_id,
            type(error).__name__,
            error if traceback is None else "see the traceback",
            exc_info=traceback,
            extra=action("enrich.step_failed", step=name, content_id=self._content_id),
        )
