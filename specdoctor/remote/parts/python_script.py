"""What a script of Python does with the servers that it starts: which it would start again."""

import ast
import re
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

STARTERS = frozenset("Popen run call check_call check_output create_subprocess_exec create_subprocess_shell".split())
STARTERS_OF_OS = frozenset(
    "system popen spawnl spawnlp spawnv spawnvp spawnve spawnvpe posix_spawn posix_spawnp".split()
)
IN_BACKGROUND = frozenset("Popen create_subprocess_exec create_subprocess_shell posix_spawn posix_spawnp popen".split())
WAITS = frozenset("wait communicate poll waitpid wait3 wait4 waitid".split())
GIVEN_WORDS = "\0given\0"
"""Stands in texts for the words that the script was given."""
IN_PLACE = frozenset("execl execle execlp execlpe execv execve execvp execvpe run_path".split())
LOOPS = (ast.While, ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Functions = Dict[str, ast.AST]


def python_tree(text: str) -> Optional[ast.AST]:
    """The parsed script; None for what this Python cannot read."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def python_loop(text: str, started: "re.Pattern[str]", own: str = "") -> Optional[Tuple[int, str]]:
    """The first line that starts it again, and how."""
    tree = python_tree(text)
    if tree is None:
        return None
    functions: Functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)}
    words = assigned_words(tree)
    bounded: Optional[int] = None
    may: Optional[int] = None
    for loop in [node for node in ast.walk(tree) if isinstance(node, LOOPS)]:
        body = list(repeated(loop, functions))
        waits = any(waits_for_it(node) for node in body)
        for call in starts_in(body, started, words):
            if isinstance(loop, ast.While) and always(loop.test):
                return call.lineno, "loop"
            if waits or not in_background(call):
                bounded = bounded or call.lineno
            may = may or call.lineno
    if bounded:
        return bounded, "bounded"
    again = calls_itself(functions, started, words) or runs_again(tree, started, words)
    return (again, "itself") if again else (may, "maybe") if may else None


def always(test: ast.AST) -> bool:
    try:
        return bool(ast.literal_eval(test))
    except ValueError:
        return False


def repeated(loop: ast.AST, functions: Functions) -> Iterator[ast.AST]:
    """What is done in each round: the body of a loop with that of each function of the file that it names."""
    parts: List[Any] = getattr(loop, "body", None) or [
        getattr(loop, name) for name in ("elt", "key", "value") if hasattr(loop, name)
    ]
    parts = [*parts, loop.test] if isinstance(loop, ast.While) else parts
    yield from with_functions(parts, functions, set())


def with_functions(parts: List[Any], functions: Functions, seen: Set[str]) -> Iterator[ast.AST]:
    for node in [each for part in parts for each in ast.walk(part)]:
        yield node
        name = function_named(node, functions)
        if name and name not in seen:
            seen.add(name)
            yield from with_functions(list(getattr(functions[name], "body", [])), functions, seen)


def function_named(node: ast.AST, functions: Functions) -> str:
    """The function of the file that an expression names, as such or as a method of this object."""
    if isinstance(node, ast.Name) and node.id in functions:
        return node.id
    of_self = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    name = getattr(node, "attr", "") if of_self else ""
    return str(name) if name in functions else ""


def waits_for_it(node: ast.AST) -> bool:
    """A call that waits for a process, the block of one, or a loop over what one says."""
    if isinstance(node, ast.Call):
        return called_name(node) in WAITS
    if isinstance(node, (ast.With, ast.AsyncWith)):
        opened = [item.context_expr for item in node.items]
        return any(isinstance(each, ast.Call) and starts_process(each.func) for each in opened)
    return isinstance(node, (ast.For, ast.AsyncFor)) and getattr(node.iter, "attr", "") in ("stdout", "stderr")


def called_name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def starts_words(node: ast.AST, started: "re.Pattern[str]", words: Dict[str, str]) -> bool:
    if not isinstance(node, ast.Call) or not starts_process(node.func):
        return False
    told = words_of(node, words)
    return GIVEN_WORDS in told or bool(started.search(told))


def starts_in(nodes: List[ast.AST], started: "re.Pattern[str]", words: Dict[str, str]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and starts_words(node, started, words):
            yield node


def in_background(call: ast.AST) -> bool:
    """Whether the script goes on while what this starts runs."""
    names = {getattr(each, "attr", "") for each in ast.walk(call)}
    return isinstance(call, ast.Call) and (called_name(call) in IN_BACKGROUND or "P_NOWAIT" in names)


def starts_process(called: ast.AST) -> bool:
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.attr in (STARTERS_OF_OS if called.value.id == "os" else STARTERS)
    return isinstance(called, ast.Name) and called.id in STARTERS


def calls_itself(functions: Functions, started: "re.Pattern[str]", words: Dict[str, str]) -> Optional[int]:
    """The line of a function that starts it and comes back to itself."""
    for name, function in functions.items():
        inside = list(with_functions(list(getattr(function, "body", [])), functions, set()))
        back = [each for each in inside if function_named(each, functions) == name]
        if back and any(starts_words(each, started, words) for each in inside):
            return int(getattr(back[0], "lineno", 0))
    return None


def runs_again(tree: ast.AST, started: "re.Pattern[str]", words: Dict[str, str]) -> Optional[int]:
    """The line on which the script is run again, after it has started the server or in another function."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    starts = [node.lineno for node in calls if starts_words(node, started, words)]
    if not starts:
        return None
    spans = [
        {getattr(each, "lineno", 0) for each in ast.walk(node)}
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
    ]
    for call in calls:
        if (starts_process(call.func) or called_name(call) in IN_PLACE) and names_script(call):
            around = [lines for lines in spans if call.lineno in lines]
            apart = bool(around) and not any(line in lines for lines in around for line in starts)
            if call.lineno >= min(starts) or apart:
                return call.lineno
    return None


def names_script(call: ast.Call) -> bool:
    """Whether a call is given the script's own name."""
    nodes = [each for part in [*call.args, *[word.value for word in call.keywords]] for each in ast.walk(part)]
    further = [getattr(each, "value", None) for each in nodes if is_given(each)]
    named = [each for each in nodes if of_sys(each) and each not in further]
    return bool(named) or any(isinstance(each, ast.Name) and each.id == "__file__" for each in nodes)


def of_sys(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("argv", "orig_argv")
        and getattr(node.value, "id", "") == "sys"
    )


def is_given(node: ast.AST) -> Any:
    """The words behind the script's own: `sys.argv[1:]`, or one of them."""
    if not isinstance(node, ast.Subscript) or not of_sys(node.value):
        return False
    try:
        return ast.literal_eval(getattr(node.slice, "value", node.slice)) != 0
    except ValueError:
        return getattr(node.slice, "lower", None) is not None


def assigned_words(tree: ast.AST) -> Dict[str, str]:
    """The text in what is assigned to each name."""
    found: Dict[str, str] = {}
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Assign)]:
        for target in [each for each in node.targets if isinstance(each, ast.Name)]:
            found[target.id] = " ".join([found.get(target.id, ""), words_of(node.value, {})])
    return found


def words_of(node: ast.AST, known: Dict[str, str]) -> str:
    """The texts in an expression, in order, with those of the names in it."""
    found = []
    for each in ast.walk(node):
        text = getattr(each, {"Constant": "value", "Str": "s"}.get(type(each).__name__, "-"), None)  # Str: before 3.8
        text = GIVEN_WORDS if isinstance(each, ast.Subscript) and is_given(each) else text
        if isinstance(text, str):
            found.append((getattr(each, "lineno", 0), getattr(each, "col_offset", 0), text))
        elif isinstance(each, ast.Name) and each.id in known:
            found.append((each.lineno, each.col_offset, known[each.id]))
    return " ".join(text for _, _, text in sorted(found))
