"""`codenav tools call`: one call to a tool, made on this machine as code in a sandbox would have it made."""

from __future__ import annotations

import base64
import json
import mimetypes
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import json_option, no_refresh_option, print_json, say, set_option, tool_options
from codenav.cli.tools import find_operation, operation_of, states_of, tools_option
from codenav.core.errors import CodeNavError, NotFound, Unavailable, UsageError

if TYPE_CHECKING:
    from codenav.tools.model import Operation, Parameter


@click.command("call")
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@tools_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the answer to this file instead of printing it; an answer that is a file needs it.",
)
@tool_options
@no_refresh_option
@set_option
@json_option
def command(
    name: str,
    arguments: tuple[str, ...],
    sources: tuple[str, ...],
    out: Path | None,
    no_refresh: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Call the operation NAME, and print its answer: JSON, or a text as it is.

    A VALUE is JSON where the parameter takes more than a text (7, true, '{"a": 1}'), else a text; @FILE is the content
    of a file. The answer is checked, bounded and masked as for code in a sandbox; secrets come from the environment.

    \b
    Examples:
      codenav tools call get_product product_id=1 --on openapi:shop.yaml
      codenav tools call shop.create_order customer=7 lines='[{"product": 1, "quantity": 2}]' \\
        --on openapi:shop.yaml --secret shop_key=SHOP_KEY --allow write
    """
    from codenav.cli import asking
    from codenav.core.config import load_config
    from codenav.core.setting import updated
    from codenav.tools.broker.broker import Broker
    from codenav.tools.describing import is_file
    from codenav.tools.state_files import read_spec_of

    secrets = options["secret"]
    tools = updated(load_config().tools, options).checked()
    states = states_of(sources, secrets=secrets, no_refresh=no_refresh)
    state, found = find_operation(states, name)
    operation, _ = operation_of(state, found)
    spec = read_spec_of(state.path, names=())
    given = _given(operation, spec.schemas, arguments)
    if is_file(operation, spec.schemas) and out is None and not as_json:
        raise UsageError(f"the answer of {found} is a file", hint="--out FILE names the file to write it to")
    made: list[Any] = []
    confirm = asking.confirm if sys.stdin.isatty() and sys.stderr.isatty() else None
    with Broker([state.path], tools, confirm=confirm, called=made.append) as broker:
        broker.demand_secrets(spec, operation)
        answer = broker(f"tools/{state.summary.name}/{found}", {"arguments": given})
    if as_json:
        print_json({**answer, "call": made[0].to_dict()} if out is None else {"call": made[0].to_dict()})
    _tell(answer, made[0], out, as_json)


def _given(operation: Operation, schemas: Mapping[str, Any], pairs: Sequence[str]) -> dict[str, Any]:
    """Read the arguments of the command line."""
    known = {item.name: item for item in operation.parameters} | {item.wire: item for item in operation.parameters}
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} is no argument", hint="KEY=VALUE, such as customer=7")
        item = known.get(name)
        key = item.name if item is not None else name
        if key in found:
            raise UsageError(f"{name} is given twice", hint=f"once, as a list: {name}='[…]'")
        found[key] = _value(item, schemas, name, text)
    return found


def _value(item: Parameter | None, schemas: Mapping[str, Any], name: str, text: str) -> Any:
    """Read one value: a text where the parameter takes nothing else, else JSON if it is some."""
    from codenav.tools.types import is_binary, kinds_of, resolved

    schema = item.schema if item is not None else {}
    if text.startswith("@") and len(text) > 1:
        try:
            content = Path(text[1:]).read_bytes()
        except OSError as error:
            raise NotFound(f"cannot read {text[1:]}: {error.strerror}", hint=f"{name}=@FILE names a file") from None
        if item is not None and is_binary(schema, schemas):
            kind = mimetypes.guess_type(text)[0] or "application/octet-stream"
            data = base64.b64encode(content).decode("ascii")
            return {"$file": {"name": Path(text[1:]).name, "type": kind, "data": data}}
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{text[1:]} is no text in UTF-8", hint=f"{name} takes a text") from None
    if kinds_of(resolved(schema, schemas)) == ["string"]:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _tell(answer: Mapping[str, Any], call: Any, out: Path | None, as_json: bool) -> None:
    """Print an answer, or write it to a file; raise what went wrong."""
    if "refused" in answer:
        raise _Refused(answer["refused"])
    if "error" in answer:
        message = answer["error"]["message"]
        if call.outcome == "failed" or call.status in (401, 403):
            raise Unavailable(message, hint=_hint(call.status))
        raise _Failed(message)
    if "file" in answer:
        if out is None and not as_json:
            name = answer["file"]["name"]
            raise UsageError(f"the answer is a file, {name} ({call.bytes} bytes)", hint=f"--out {name}")
        if out is not None:
            _write(out, base64.b64decode(answer["file"]["data"]))
    elif out is not None:
        value = _plain(answer)
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        _write(out, text.encode("utf-8", "surrogatepass"))
    elif not as_json:
        _print(_plain(answer))


def _plain(answer: Mapping[str, Any]) -> Any:
    """Return an answer as JSON data, with the names of files among its parts in their places."""
    if "parts" not in answer:
        return answer["value"]
    return [part.get("value", part.get("file", {}).get("name")) for part in answer["parts"]]


def _print(value: Any) -> None:
    if isinstance(value, str):
        if sys.stdout.isatty():
            say(value)
        else:
            click.echo(value, nl=not value.endswith("\n"))
    else:
        print_json(value)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="name another file with --out") from None


def _hint(status: int | None) -> str:
    if status in (401, 403):
        return "check the value of the secret, and what it may do"
    return "codenav tools check SOURCE tells about its servers; --server URL names another one"


class _Failed(CodeNavError):
    """An answer with an error status."""


class _Refused(UsageError):
    """A call of which nothing was sent."""
