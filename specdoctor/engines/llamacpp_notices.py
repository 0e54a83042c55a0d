"""Log lines of llama.cpp that matter to a rule or calm a reader: each with a kind, and whether it is benign."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoticeRow:
    """A line to note: `literal` is a part of it that no other line has."""

    kind: str
    literal: str
    benign: bool = False


INIT_FAILED = "spec-init-failed"
VOCABULARY = "vocab-mismatch"
NOT_SPECULATING = "not-speculating"
AUX_LAYERS = "aux-layers"
ARCHITECTURE = "draft-architecture"
STATISTICS = "draft-statistics"

NOTICES = (
    NoticeRow(INIT_FAILED, "failed to initialize speculative decoding context"),
    NoticeRow(VOCABULARY, "the target and draft vocabs are not compatible"),
    NoticeRow(VOCABULARY, "draft model vocab type must match"),
    NoticeRow(VOCABULARY, "draft model vocab must closely match"),
    NoticeRow(VOCABULARY, "draft model vocab must match"),
    NoticeRow(VOCABULARY, "draft model bos tokens must match"),
    NoticeRow(VOCABULARY, "draft model eos tokens must match"),
    NoticeRow(VOCABULARY, "content differs - target"),
    NoticeRow("vocab-translated", "tokens will be translated between"),
    NoticeRow(NOT_SPECULATING, "no implementations specified for speculative decoding"),
    NoticeRow(NOT_SPECULATING, "speculative decoding not supported by this context"),
    NoticeRow("implementation", "adding speculative implementation", benign=True),
    NoticeRow("checkpoints", "speculative decoding will use checkpoints"),
    NoticeRow("clamped", "exceeds the trained block size"),
    NoticeRow("synthetic", "synthetic speculative acceptance is enabled"),
    NoticeRow(AUX_LAYERS, "EAGLE3 extract_layers = [", benign=True),
    NoticeRow("draft-vocabulary", "EAGLE3 using d2t mapping", benign=True),
    NoticeRow("draft-vocabulary", "EAGLE3 without d2t", benign=True),
    NoticeRow("drafts-degrade", "Drafts may degrade"),
    NoticeRow("context-capped", "exceeds the training context of the model"),
    NoticeRow("context-overflow", "possible training context overflow", benign=True),
    NoticeRow("mtp-context", "creating MTP draft context against the target model", benign=True),
    NoticeRow("backend-sampling", "backend sampling not supported with"),
    NoticeRow("no-gpu", "no usable GPU found"),
    NoticeRow("offloaded", "layers to GPU", benign=True),
    NoticeRow(ARCHITECTURE, "eagle3 requires ctx_other to be set", benign=True),
    NoticeRow("memory-fitting", "this warning is normal during memory fitting", benign=True),
    NoticeRow("memory-fitting", "failed to measure the memory of the extra model", benign=True),
    NoticeRow("no-api-key", "no API key is set", benign=True),
)
MAX_PER_KIND = 20


def find_notice(message: str) -> NoticeRow | None:
    """The row that knows this line, None for all others."""
    return next((row for row in NOTICES if row.literal in message), None)
