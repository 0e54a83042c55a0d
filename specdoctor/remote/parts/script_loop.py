"""Whether the script that started a server would start it again: read here, where it lies, and never sent.

Proved is a loop without a bound (`while`, `until`, `for ((;;))`; `while True` in Python) in which stands what was
started: the engine, the script or program below it, or the words that the script was given. Any other loop around
something that is started is named as one that may.
"""

import ast
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from specdoctor.remote.parts.engine_processes import ENGINES, ONLOOKERS, Server
from specdoctor.remote.parts.interpreter_packages import root_of
from specdoctor.remote.parts.procfs import Stat, ancestors_of, argv_of, link_of, read_bytes

SHELL_NAMES = frozenset("sh bash dash zsh ksh ash".split())
SCRIPT_BYTES = 1 << 17
GIVEN = re.compile(r"\"?\$(?:@|\*|\{@\}|\{\*\}|\{\w+\[@\]\})\"?")
ENGINE_WORDS = re.compile("|".join("(?:%s)" % pattern for name, pattern in ENGINES if name != "beside"), re.I)
LOOP_WORD = re.compile(r"(?:^|[;&|({]|\b(?:do|then|else)\b)\s*(while|until|for|select|done)\b")
PARTS = re.compile(r"[;&|!]+|(?<!\$)[({]|\b(?:do|then|else|elif|if|while|until)\b")
ASSIGNED = re.compile(r"^\s*(?:export\s+|local\s+|readonly\s+)?(\w+)=(.*)$")
FUNCTION = re.compile(r"^\s*(?:function\s+)?([\w-]+)\s*\(\)|^\s*function\s+([\w-]+)")
LOOKING = ONLOOKERS | frozenset("echo printf curl wget test [ [[ wait logger log trap".split())
STARTERS = frozenset("Popen run call check_call check_output create_subprocess_exec create_subprocess_shell".split())
STARTERS_OF_OS = frozenset(
    "system popen spawnl spawnlp spawnv spawnvp spawnve spawnvpe posix_spawn posix_spawnp".split()
)


def loops_above(servers: List[Server], stats: Dict[int, Stat]) -> Dict[int, Optional[Dict[str, Any]]]:
    """By process: what a script above a server has of loops that start it."""
    found: Dict[int, Optional[Dict[str, Any]]] = {}
    for server in servers:
        chain = [server.pid, *ancestors_of(server.pid, stats)]
        for below, pid in zip(chain, chain[1:]):
            found[pid] = found.get(pid) or script_loop(pid, argv_of(below) or [])
    return found


def script_loop(pid: int, below: Sequence[str]) -> Optional[Dict[str, Any]]:
    """{"path", "line", "proved"} for a process that runs a script with such a loop; None for any other.

    `below` are the words of the process that it started.
    """
    argv = argv_of(pid) or []
    path = script_of(argv)
    if path is None:
        return None
    place = root_of(pid) + (path if path.startswith("/") else "%s/%s" % (link_of(pid, "cwd") or "", path))
    raw = read_bytes(place, SCRIPT_BYTES) if os.path.isfile(place) else None
    if raw is None:
        return None
    text = raw.decode("utf-8", "replace")
    found = (python_loop if is_python(argv[0]) else shell_loop)(text, wanted(below))
    return {"path": path, "line": found[0], "proved": found[1]} if found else None


def is_python(word: str) -> bool:
    return re.match(r"python[\d.]*$", os.path.basename(word)) is not None


def script_of(argv: Sequence[str]) -> Optional[str]:
    """The file of a shell or of Python that this command line runs; None where its words are the program."""
    name = os.path.basename(argv[0]).lstrip("-") if argv else ""
    if name not in SHELL_NAMES and not is_python(name):
        return None
    for word in argv[1:]:
        if word in ("-c", "-m") or re.match(r"-[a-z]*c$", word):
            return None
        if not word.startswith(("-", "+")):
            return word
    return None


def wanted(below: Sequence[str]) -> "re.Pattern[str]":
    """What names the process below: its script, or its program where that is no interpreter."""
    inner = script_of(below) or (below[0] if below else "")
    name = os.path.basename(inner)
    known = name and name not in SHELL_NAMES and not is_python(name)
    return re.compile(ENGINE_WORDS.pattern + (r"|(?:^|[\s/\"'])%s(?:$|[\s\"';&|)])" % re.escape(name) if known else ""))


def shell_loop(text: str, started: "re.Pattern[str]") -> Optional[Tuple[int, bool]]:
    """The first line that starts it inside of a loop, and whether that loop has no bound."""
    lines = list(logical_lines(text))
    named = names_for(lines, started)
    open_loops: List[bool] = []
    may: Optional[int] = None
    for number, line in lines:
        words = list(LOOP_WORD.finditer(line))
        for part, end in parts_of_line(line):
            while words and words[0].start(1) < end:
                word = words.pop(0)
                if word.group(1) != "done":
                    open_loops.append(unbounded(word.group(1), line[word.end() :]))
                elif open_loops:
                    open_loops.pop()
            if open_loops and starts_it(part, started, named):
                if open_loops[-1]:
                    return number, True
                may = may or number
    return (may, False) if may else None


def parts_of_line(line: str) -> Iterator[Tuple[str, int]]:
    """The commands of a line, each with where it ends."""
    begin = 0
    for cut in PARTS.finditer(line):
        yield line[begin : cut.start()], cut.start()
        begin = cut.end()
    yield line[begin:], len(line)


def starts_it(part: str, started: "re.Pattern[str]", named: List[str]) -> bool:
    """Whether one command of a line starts what is meant, by its words, those that were given, or a name for them."""
    words = [word for word in part.split() if not re.match(r"\w+=", word)]
    if not words or os.path.basename(words[0].strip("\"'")) in LOOKING:
        return False
    if words[0].rstrip(")") in named or GIVEN.match(words[0]) or started.search(" ".join(words)):
        return True
    return any(re.match(r"\"?\$\{?%s\b" % re.escape(name), word) for name in named for word in words)


def names_for(lines: Sequence[Tuple[int, str]], started: "re.Pattern[str]") -> List[str]:
    """Variables that hold the command, and functions of the script that run it."""
    found: List[str] = []
    function = ""
    for _, line in lines:
        assigned, begun = ASSIGNED.match(line), FUNCTION.match(line)
        function = (begun.group(1) or begun.group(2)) if begun else function
        if assigned and started.search(assigned.group(2)):
            found.append(assigned.group(1))
        elif function and any(starts_it(part, started, found) for part in PARTS.split(line)):
            found.append(function)
        function = "" if line.rstrip() == "}" or (begun and line.rstrip().endswith("}")) else function
    return found


def unbounded(word: str, rest: str) -> bool:
    """A `while read` ends with its input, a `for` with its list."""
    if word == "for":
        return re.match(r"\s*\(\(\s*;\s*;", rest) is not None
    return word in ("while", "until") and re.match(r"\s+(?:IFS=\S*\s+)?read\b", rest) is None


def logical_lines(text: str) -> Iterator[Tuple[int, str]]:
    """Lines without comments, continued ones as one, with their numbers."""
    whole, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        yield first, re.sub(r"(?:^|\s)#.*$", "", whole + line)
        whole, first = "", 0


def python_loop(text: str, started: "re.Pattern[str]") -> Optional[Tuple[int, bool]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    words = assigned_words(tree)
    may: Optional[int] = None
    for loop in [node for node in ast.walk(tree) if isinstance(node, (ast.While, ast.For))]:
        for call in [call for node in loop.body for call in calls_in(node, functions)]:
            if not started.search(words_of(call, words)):
                continue
            if isinstance(loop, ast.While) and always(loop.test):
                return call.lineno, True
            may = may or call.lineno
    return (may, False) if may else None


def always(test: ast.AST) -> bool:
    try:
        return bool(ast.literal_eval(test))
    except ValueError:
        return False


def calls_in(node: ast.AST, functions: Dict[str, ast.FunctionDef]) -> Iterator[ast.Call]:
    """Calls that start a process, also in the body of a function of the file that is called here."""
    for call in [each for each in ast.walk(node) if isinstance(each, ast.Call)]:
        if not (isinstance(call.func, ast.Name) and call.func.id in functions):
            yield from [call] if starts_process(call.func) else []
        else:
            inner = [each for each in ast.walk(functions[call.func.id]) if isinstance(each, ast.Call)]
            yield from (each for each in inner if starts_process(each.func))


def starts_process(called: ast.AST) -> bool:
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.attr in (STARTERS_OF_OS if called.value.id == "os" else STARTERS)
    return isinstance(called, ast.Name) and called.id in STARTERS


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
        if isinstance(text, str):
            found.append((getattr(each, "lineno", 0), getattr(each, "col_offset", 0), text))
        elif isinstance(each, ast.Name) and each.id in known:
            found.append((each.lineno, each.col_offset, known[each.id]))
    return " ".join(text for _, _, text in sorted(found))
