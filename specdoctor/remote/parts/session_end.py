"""Whether the system ends what a login has left running once that login ends, which no guard would survive.

systemd-logind does so with `KillUserProcesses=yes`, for the processes below the scope of the session, and for everybody
but `KillExcludeUsers` (root unless set), or for `KillOnlyUsers` alone (logind.conf(5)).
"""

import os
import re
from typing import Dict, List

PLACES = ("{usr}/lib/systemd", "{run}/systemd", "{etc}/systemd")
SETTING = re.compile(r"^\s*(#?)\s*(KillUserProcesses|KillExcludeUsers|KillOnlyUsers)\s*=\s*(.*?)\s*$", re.M)
TRUE = ("yes", "true", "on", "1", "y", "t")


def ends_with_session(user: str, cgroup: str) -> str:
    """Why a process that is started now would be ended with its login; "" if it would not. `cgroup`: as in /proc."""
    if not re.search(r"/session-[^/]+\.scope", cgroup):
        return ""
    settings, default = _settings()
    if settings.get("KillUserProcesses", default).lower() not in TRUE:
        return ""
    only = settings.get("KillOnlyUsers", "").split()
    spared = settings.get("KillExcludeUsers", "root").split()
    if user in spared or (only and user not in only):
        return ""
    return "KillUserProcesses=yes in logind.conf ends what user %s leaves running when the login ends" % user


def _settings() -> "tuple[Dict[str, str], str]":
    """What the files set, later ones over earlier ones, and the built-in default that the main file shows."""
    found: Dict[str, str] = {}
    default = "no"
    for path in _files():
        for hidden, name, value in SETTING.findall(_read(path)):
            if not hidden:
                found[name] = value
            elif name == "KillUserProcesses":
                default = value
    return found, default


def _files() -> List[str]:
    roots = {name: os.environ.get("HOST_" + name.upper()) or "/" + name for name in ("usr", "run", "etc")}
    places = [each.format(**roots) for each in PLACES]
    mains = [place + "/logind.conf" for place in places]
    drops: Dict[str, str] = {}
    for place in places:
        folder = place + "/logind.conf.d"
        names = os.listdir(folder) if os.path.isdir(folder) else []
        drops.update({name: folder + "/" + name for name in names if name.endswith(".conf")})
    return mains + [drops[name] for name in sorted(drops)]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
