"""The loop as a graph: plan -> gate -> (approve) -> act -> judge -> plan | report. The only file that knows LangGraph.

State is plain JSON: ids and moves. Everything durable is in the event log, so deleting the checkpoints loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic import TypeAdapter

from specdoctor.app import attending, steps
from specdoctor.app.run import Run
from specdoctor.core.moves import Move
from specdoctor.core.ports import Answer, Batch

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

_move: TypeAdapter[Move] = TypeAdapter(Move)
RECURSION_LIMIT = 2000
"""Node visits in one run before the framework gives up; an investigation makes a few hundred at most."""


class State(TypedDict, total=False):
    """What travels between nodes."""

    run: str
    round: int
    moves: list[dict[str, Any]]
    batch: dict[str, Any] | None
    halt: str | None


def _dump(moves: Sequence[Move]) -> list[dict[str, Any]]:
    return [m.model_dump(mode="json") for m in moves]


def _load(state: State) -> list[Move]:
    return [_move.validate_python(m) for m in state.get("moves", [])]


def build(run: Run, checkpointer: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled graph over one run; nodes are thin, the work is in `steps`."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    def plan(state: State) -> State:
        planned = steps.plan(run)
        return {"round": state.get("round", 0) + 1, "moves": _dump(planned.moves), "halt": planned.halt, "batch": None}

    def gate(state: State) -> State:
        passed, batch = steps.gate(run, _load(state))
        return {"moves": _dump(passed), "batch": batch.model_dump(mode="json") if batch else None}

    def approve(state: State) -> State:
        answer = interrupt(state["batch"])
        passed = steps.answered(run, _load(state), Batch.model_validate(state["batch"]), Answer.model_validate(answer))
        return {"moves": _dump(passed), "batch": None}

    def act(state: State) -> State:
        steps.act(run, _load(state))
        return {"moves": []}

    def judge(state: State) -> State:
        steps.judge(run)
        return {"halt": state.get("halt")}

    def report(state: State) -> State:
        steps.report(run)
        return {"halt": state.get("halt")}

    graph = StateGraph(State)
    graph.add_node("plan", plan)
    graph.add_node("gate", gate)
    graph.add_node("approve", approve)
    graph.add_node("act", act)
    graph.add_node("judge", judge)
    graph.add_node("report", report)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda s: "report" if s.get("halt") else "gate", ["report", "gate"])
    graph.add_conditional_edges("gate", lambda s: "approve" if s.get("batch") else "act", ["approve", "act"])
    graph.add_edge("approve", "act")
    graph.add_edge("act", "judge")
    graph.add_edge("judge", "plan")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=checkpointer)


def drive(run: Run, *, checkpoints: Path | None) -> bool:
    """Run the graph to its end. False when it waits for an approval that nobody could give.

    Checkpoints go to an SQLite file (memory if None); each start of the process uses a thread of its own, because the
    event log alone tells where to go on. Tracing to any service is off, whatever the environment says: what a run
    knows of a host leaves this machine only by the user's hand.
    """
    from langgraph.types import Command
    from langsmith import tracing_context

    with tracing_context(enabled=False), _saver(checkpoints) as saver:
        graph = build(run, saver)
        config: Any = {
            "configurable": {"thread_id": f"{run.id}/{run.ledger.resumes}"},
            "recursion_limit": RECURSION_LIMIT,
        }
        given: Any = {"run": run.id, "round": 0, "moves": []}
        while True:
            state = graph.invoke(given, config)
            waiting = state.get("__interrupt__")
            if not waiting:
                return True
            answer = attending.asked(run, Batch.model_validate(waiting[0].value))
            if answer is None:
                return False
            given = Command(resume=answer.model_dump(mode="json"))


def _saver(checkpoints: Path | None) -> Any:
    from contextlib import nullcontext

    if checkpoints is None:
        from langgraph.checkpoint.memory import InMemorySaver

        return nullcontext(InMemorySaver())
    from langgraph.checkpoint.sqlite import SqliteSaver

    checkpoints.parent.mkdir(parents=True, exist_ok=True)
    return SqliteSaver.from_conn_string(str(checkpoints))
