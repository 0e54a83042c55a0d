"""COMPAT: combinations that are not supported."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="COMPAT",
    title="unsupported combination",
    causes=(
        Cause(
            id="COMPAT-1",
            title="pipeline parallel",
            seen="NotImplementedError, or wrong text",
            check="pipeline parallel 1",
            predicts="it works",
            fix="tensor parallel alone",
            severity="does not start",
            reports=1,
        ),
        Cause(
            id="COMPAT-2",
            title="model class or kind of input not supported",
            seen="'only supported for ...', or an image ends the server",
            check="the version's list of supported models",
            predicts="the class is not in it",
            fix="a version or method that supports it",
            severity="does not start",
            reports=2,
        ),
    ),
)
