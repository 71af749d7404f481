"""The state of a study: the runs that its store has, and those that are missing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tcpsf.storage import Storage
from tcpsf.studies.definition import Study
from tcpsf.studies.planning import STUDIES
from tcpsf.studies.running import StudyRuns, totals_of
from tcpsf.studies.study_results import stored_results
from tcpsf.studies.sweep import checked_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """Numbers of points and runs of a study."""

    study: Study
    location: str
    """Path or URL of the store."""
    folder: str
    """Folder of the study's results in the store."""
    points: int
    complete: int | None
    """Number of points whose runs are all stored.

    ``None`` if a stopping rule decides this and the results are not computed.
    """
    stored: int
    """Number of the study's stored runs."""
    missing: int
    """Number of missing runs; with a stopping rule, of the first batch of each point."""
    other_versions: tuple[str, ...]
    """Folders of studies with the same name and another definition or simulator."""


def state_of(study: Study, storage: Storage) -> StudyState:
    """Return the state of a study. Files of runs are counted, and not read."""
    plan = checked_plan(study, storage)
    runs = StudyRuns(plan, storage)
    first = totals_of(study)[0]
    absent = [(len(cell), sum(1 for _ in runs.missing(cell, first))) for cell in plan.cells]
    complete: int | None = sum(points for points, missing in absent if missing == 0)
    if study.runs.until is not None:
        complete = len(plan.points) if stored_results(runs) is not None else None
    own = plan.folder.rpartition("/")[2]
    others = sorted(
        name
        for name in storage.names(STUDIES)
        if re.fullmatch(rf"{re.escape(study.name)}-[0-9a-f]+", name) and name != own
    )
    return StudyState(
        study=study,
        location=storage.location,
        folder=plan.folder,
        points=len(plan.points),
        complete=complete,
        stored=len(runs.names()),
        missing=sum(missing for _, missing in absent),
        other_versions=tuple(others),
    )
