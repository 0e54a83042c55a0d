"""What a shell's script does with the servers that it starts: which it would start again."""

import os
import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from specdoctor.remote.parts.engine_processes import ONLOOKERS

SHELL_NAMES = frozenset("sh bash dash zsh ksh ash".split())
GIVEN = re.compile(r"\"?\$(?:@|\*|\{@\}|\{\*\}|\{\w+\[@\]\})\"?")
LOOP_WORD = re.compile(r"(?:^|[;&|({]|\b(?:do|then|else)\b)\s*(while|until|for|select|done)\b")
PARTS = re.compile(r"[;&|!]+|(?<!\$)[({]|\b(?:do|then|else|elif|if|while|until)\b")
REDIRECTED = re.compile(r"\d*>&\d?|&>>?")
ASSIGNED = re.compile(r"^\s*(?:export\s+|local\s+|readonly\s+)?(\w+)=(.*)$")
FUNCTION = re.compile(r"^\s*(?:function\s+)?([\w-]+)\s*\(\)|^\s*function\s+([\w-]+)")
LOOKING = ONLOOKERS | frozenset("echo printf curl wget test [ [[ wait logger log trap".split())
WAITING = re.compile(r"\s*(?:wait\b|fg\b|kill\s+-0|pgrep\b|pidof\b|ps\s|tail\s.*--pid|\[+\s+-[de]\s+\"?/proc/)")
ITSELF = r"\$\{?0\b\}?|\$\{?BASH_SOURCE\b(?:\[0\])?\}?"
RUN_BEFORE = (
    r"\s*(?:(?:exec|nohup|setsid|env|source|\.|command|sudo|nice|time)\s+|-\S+\s+|\w+=\S*\s+"
    r"|\"?(?:\S*/)?(?:sh|bash|dash|zsh|ksh|ash)\"?\s+|\"?\$\{?(?:SHELL|BASH)\}?\"?\s+)*"
)

Command = NamedTuple(
    "Command",
    [("line", int), ("text", str), ("background", bool), ("loops", Tuple[Tuple[int, bool], ...]), ("function", str)],
)
"""`loops` are those around it, each with its number and whether it has no bound; `function` is that around it."""


def shell_loop(text: str, started: "re.Pattern[str]", own: str = "") -> Optional[Tuple[int, str]]:
    """The first line that starts it again, and how. `own` is the name of the script."""
    commands = list(shell_commands(text))
    named = names_for(text, commands, started)
    starts = [
        (each, waited) for each in commands for waited in [started_how(each, started, named)] if waited is not None
    ]
    for each, _ in starts:
        if any(unbounded for _, unbounded in each.loops):
            return each.line, "loop"
    for each, waited in starts:
        if each.loops and (waited or waits_around(commands, each)):
            return each.line, "bounded"
    again = runs_itself(text, commands, named, own, [each.line for each, _ in starts])
    if again:
        return again, "itself"
    return next(((each.line, "maybe") for each, _ in starts if each.loops), None)


def shell_commands(text: str) -> Iterator[Command]:
    open_loops: List[Tuple[int, bool]] = []
    function, number_of_loops = "", 0
    for number, whole in logical_lines(text):
        line, begun = REDIRECTED.sub(" ", whole), FUNCTION.match(whole)
        if begun:
            function = begun.group(1) or begun.group(2)
            line = FUNCTION.sub("", line)
        words = list(LOOP_WORD.finditer(line))
        for part, end, cut in parts_of_line(line):
            while words and words[0].start(1) < end:
                word = words.pop(0)
                if word.group(1) != "done":
                    number_of_loops += 1
                    open_loops.append((number_of_loops, no_bound(word.group(1), line[word.end() :])))
                elif open_loops:
                    open_loops.pop()
            yield Command(number, part, cut == "&", tuple(open_loops), function)
        if line.startswith("}") or (begun and line.rstrip().endswith("}")):
            function = ""


def parts_of_line(line: str) -> Iterator[Tuple[str, int, str]]:
    """The commands of a line, each with where it ends and the sign that ends it."""
    begin = 0
    for cut in PARTS.finditer(line):
        yield line[begin : cut.start()], cut.start(), cut.group()
        begin = cut.end()
    yield line[begin:], len(line), ""


def first_word(part: str) -> str:
    words = [word for word in part.split() if not re.match(r"\w+=", word)]
    return words[0].rstrip(")") if words else ""


def starts_it(part: str, started: "re.Pattern[str]", named: Dict[str, bool]) -> bool:
    """Whether one command of a line starts what is meant, by its words, those that were given, or a name for them."""
    words = [word for word in part.split() if not re.match(r"\w+=", word)]
    if not words or os.path.basename(words[0].strip("\"'")) in LOOKING:
        return False
    if words[0].rstrip(")") in named or GIVEN.match(words[0]) or started.search(" ".join(words)):
        return True
    return any(re.match(r"\"?\$\{?%s\b" % re.escape(name), word) for name in named for word in words)


def started_how(command: Command, started: "re.Pattern[str]", named: Dict[str, bool]) -> Optional[bool]:
    """Whether it is waited for what this command starts; None where it starts nothing of it."""
    if not starts_it(command.text, started, named):
        return None
    return not command.background and named.get(first_word(command.text), True)


def names_for(text: str, commands: Sequence[Command], started: "re.Pattern[str]") -> Dict[str, bool]:
    """Variables that hold the command, and functions of the script that run it: whether they wait for its end."""
    found: Dict[str, bool] = {}
    for _, line in logical_lines(text):
        assigned = ASSIGNED.match(line)
        if assigned and started.search(assigned.group(2)):
            found[assigned.group(1)] = True
    functions = {each.function for each in commands} - {""}
    for _ in functions:
        for name in functions:
            inside = [each for each in commands if each.function == name and first_word(each.text) != name]
            how = [waited for waited in (started_how(each, started, found) for each in inside) if waited is not None]
            if how:
                found[name] = any(how) or any(WAITING.match(each.text) for each in inside)
    return found


def waits_around(commands: Sequence[Command], start: Command) -> bool:
    """Whether a loop around this command waits for what was put in the background."""
    return any(WAITING.match(each.text) and set(each.loops) & set(start.loops) for each in commands)


def runs_itself(
    text: str, commands: Sequence[Command], named: Dict[str, bool], own: str, starts: List[int]
) -> Optional[int]:
    """The line on which a function that starts it calls itself, or the script is run again after it."""
    functions = {each.function for each in commands} - {""}
    calls: Dict[str, Set[str]] = {name: set() for name in functions}
    for each in commands:
        if each.function and first_word(each.text) in functions:
            calls[each.function].add(first_word(each.text))
    for each in commands:
        called = first_word(each.text)
        if each.function in named and called in functions and each.function in reached(called, calls):
            return each.line
        trapped = set(re.findall(r"[\w-]+", each.text)) if called == "trap" and "kill" not in each.text else set()
        if trapped & functions & set(named):
            return each.line
    again = re.compile(RUN_BEFORE + r"[\"']?(?:%s)(?=[\"'\s);]|$)" % "|".join(names_of_itself(text, own)))
    starting = {each.function for each in commands if each.line in starts}
    for each in commands:
        body = re.sub(r"^\s*trap\s+[\"']", "", each.text)
        later = body != each.text or (bool(starts) and each.line >= starts[0])
        if again.match(body) and (later or (each.function and each.function not in starting)):
            return each.line
    return None


def reached(name: str, calls: Dict[str, Set[str]]) -> Set[str]:
    found: Set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(calls.get(current, ()))
    return found


def names_of_itself(text: str, own: str) -> List[str]:
    """What the script can be called by in its own text."""
    found = [ITSELF, r"\$\((?:readlink|realpath)[^)]*(?:%s)[^)]*\)" % ITSELF]
    if own:
        found.append(r"(?:[^\s\"']*/)?%s" % re.escape(os.path.basename(own)))
    for _, line in logical_lines(text):
        assigned = ASSIGNED.match(line)
        if (
            assigned
            and re.search(ITSELF, assigned.group(2))
            and not re.search("dirname|basename|%/", assigned.group(2))
        ):
            found.append(r"\$\{?%s\b\}?" % re.escape(assigned.group(1)))
    return found


def no_bound(word: str, rest: str) -> bool:
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
