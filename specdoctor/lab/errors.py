"""What can go wrong in the practice lab itself."""

from __future__ import annotations

from specdoctor.core.errors import SpecdoctorError


class LabError(SpecdoctorError):
    """The practice host could not be set up, started or stopped as asked."""

    exit_code = 5
