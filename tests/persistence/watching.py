"""Python's actions while a file loads: code compiled or run, processes, files written, imports."""

import sys
from contextlib import contextmanager

FORBIDDEN = (
    "compile",
    "exec",
    "import",
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.chmod",
    "os.kill",
    "pickle.find_class",
    "marshal.loads",
    "marshal.load",
    "shutil.rmtree",
    "shutil.move",
    "socket.connect",
    "socket.bind",
    "subprocess.Popen",
    "ctypes.dlopen",
    "code.__new__",
)

_events: list | None = None


def _hook(event, arguments):
    if _events is None:
        return
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & 3
        if writes:
            _events.append((event, arguments))
    elif event in FORBIDDEN:
        _events.append((event, arguments))


@contextmanager
def watched():
    """A list of all events of Python's within that no file may cause."""
    global _events
    if not getattr(sys, "_gpflow_gi_tests_watch", False):
        sys.addaudithook(_hook)  # which cannot be removed again
        sys._gpflow_gi_tests_watch = True
    _events = []
    try:
        yield _events
    finally:
        _events = None
