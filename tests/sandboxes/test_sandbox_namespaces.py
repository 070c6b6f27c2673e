"""bubblewrap where user namespaces are nested, or off."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SCRIPT = """
    from pathlib import Path
    from codenav.core.errors import SandboxUnavailable
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    from codenav.sandboxes import bubblewrap, start

    spec = SandboxSpec(find_interpreter())
    with start("bubblewrap", spec) as box:
        print(box.run("import os; print(os.getuid())").stdout, end="")
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    bubblewrap.trouble.cache_clear()
    try:
        start("bubblewrap", spec)
    except SandboxUnavailable as error:
        print(error)
        print(error.hint)
"""


def test_root_of_a_namespace_of_one_user_and_then_no_namespaces_at_all():
    """The limit is the namespace's own; the machine's stays as it is."""
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", textwrap.dedent(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    uid, message, hint = done.stdout.splitlines()
    assert uid == "1000", done.stderr
    assert message.startswith("bubblewrap cannot make a namespace: ")
    assert hint == "sudo sysctl -w user.max_user_namespaces=10000"
