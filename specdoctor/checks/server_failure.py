"""Did the server fail, and does its log say why?"""

from __future__ import annotations

from specdoctor.checks.reading import log_source, no_data, silent
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene


class ServerFailure:
    """Reads the telling line of a failed start or a crash, in one sentence."""

    name = "server-failure"
    summary = "Explain a failed start or a crash from the server's log."
    causes = ("MEM-1", "CFG-2", "CFG-3", "MIS-1", "COMPAT-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.log is None:
            return no_data(self.name, None, "no log of this server was found")
        failure = view.log.failure
        if failure is None:
            return silent(self.name, None, "the log shows no failure")
        if view.state != "down":
            return silent(self.name, None, f"an earlier failure stands in the log: {failure.meaning}")
        return (
            Observation(
                check=self.name,
                cause=failure.cause,
                stance="supports",
                claim=failure.meaning,
                binds=True,
                explains=True,
                sources=(log_source(view, failure.line, failure.quote),),
                reading=Prediction(metric="reading", op="==", subject="the log's last error", text=failure.quote[:120]),
                fix=failure.next_step,
            ),
        )


check = ServerFailure()
