"""What models write, and the action that is read from it."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from codenav.agents.parsing import parse
from codenav.core.actions import Action, Ask, Code, CodeSummary, Done, InvalidAction, Search

TYPES: dict[str, type[Action]] = {item.type: item for item in (Search, Code, CodeSummary, Ask, Done)}


@dataclass(frozen=True)
class Bash(Action):
    """An action of a user."""

    type: str = "bash"


READ: list[tuple[str, str, Action]] = [
    ("as shown", "<thought>why</thought>\n<type>code</type>\n<content>\nx = 1\n</content>", Code("x = 1", "why")),
    ("in action tags", "<action>\n<type>search</type>\n<content>\nresize\n</content>\n</action>", Search("resize")),
    ("on one line", "<thought>w</thought><type>done</type><content>42</content>", Done("42", "w")),
    ("inline with spaces", "<type> done </type><content> 42 </content>", Done("42")),
    ("no thought", "<type>done</type>\n<content>\n42\n</content>", Done("42")),
    ("empty thought", "<thought></thought><type>done</type><content>42</content>", Done("42")),
    ("prose for a thought", "Let me look.\n<type>search</type>\n<content>\nq\n</content>", Search("q", "Let me look.")),
    (
        "thought inside action",
        "<action><thought>w</thought><type>ask</type><content>a?</content></action>",
        Ask("a?", "w"),
    ),
    ("thought behind the type", "<type>code</type>\n<thought>w</thought>\n<content>\nx\n</content>", Code("x", "w")),
    ("thought left open", "<thought>w\n<type>code</type>\n<content>\nx\n</content>", Code("x", "w")),
    ("thought half closed", "<thought>w</thought\n<type>code</type>\n<content>\nx\n</content>", Code("x", "w")),
    ("type left open", "<type>code\n<content>\nx\n</content>", Code("x")),
    ("type half closed", "<type>code</type\n<content>\nx\n</content>", Code("x")),
    ("tags in capitals", "<THOUGHT>w</THOUGHT><Type>code</Type><Content>\nx\n</CONTENT>", Code("x", "w")),
    ("spaces in tags", "<type >code</ type>\n<content >\nx\n</content >", Code("x")),
    ("attributes", '<type>code</type>\n<content language="python">\nx\n</content>', Code("x")),
    ("windows line ends", "<type>code</type>\r\n<content>\r\nx = 1\r\ny = 2\r\n</content>\r\n", Code("x = 1\r\ny = 2")),
    ("text behind it", "<type>code</type>\n<content>\nx\n</content>\nNow I wait.", Code("x")),
    ("whole answer fenced", "```xml\n<type>code</type>\n<content>\nx\n</content>\n```", Code("x")),
    # The end is missing.
    ("content left open", "<type>code</type>\n<content>\nx = 1\n", Code("x = 1")),
    ("content half closed", "<type>code</type>\n<content>\nx = 1\n</content", Code("x = 1")),
    ("content a third closed", "<type>code</type>\n<content>\nx = 1\n</con", Code("x = 1")),
    ("content barely closed", "<type>done</type><content>42</", Done("42")),
    ("half closed, then action", "<action><type>code</type><content>\nx\n</content\n</action>", Code("x")),
    # Thinking.
    (
        "thinking",
        "<think>try <type>code</type><content>bad</content></think><type>done</type><content>1</content>",
        Done("1"),
    ),
    ("thinking in capitals", "<THINK>a</THINK>\n<type>done</type><content>1</content>", Done("1")),
    (
        "thinking, opened by the template",
        "hm <type>code</type><content>bad</content>\n</think>\n<type>done</type><content>1</content>",
        Done("1"),
    ),
    (
        "thinking, fake action open",
        "<thinking><type>code</type><content>bad</thinking><type>done</type><content>1</content>",
        Done("1"),
    ),
    ("thinking twice", "<think>a</think><think>b</think><type>done</type><content>1</content>", Done("1")),
    (
        "thinking behind it",
        "<type>code</type><content>x</content><think>or <type>done</type><content>1</content>",
        Code("x"),
    ),
    (
        "thinking in the thought",
        "<thought><think>a</think>w</thought><type>done</type><content>1</content>",
        Done("1", "w"),
    ),
    (
        "think in the code",
        "<type>code</type>\n<content>\ns.split('</think>')\nt = '<think>'\n</content>",
        Code("s.split('</think>')\nt = '<think>'"),
    ),
    # Several actions.
    ("two of a kind", "<type>code</type><content>a</content>\n<type>code</type><content>b</content>", Code("b")),
    (
        "a draft, then the action",
        "<type>search</type><content>a</content>\nno:\n<thought>w</thought><type>code</type><content>b</content>",
        Code("b", "w"),
    ),
    (
        "made-up result between",
        "<type>search</type><content>a</content>\nResult: nothing\n<type>code</type><content>b</content>",
        Code("b"),
    ),
    (
        "done too early",
        "<type>code</type><content>a</content>\nOutput: 3\n<type>done</type><content>3</content>",
        Code("a"),
    ),
    (
        "summary and done",
        "<type>code_summary</type><content>a</content><type>done</type><content>3</content>",
        CodeSummary("a"),
    ),
    ("done twice", "<type>done</type><content>3</content><type>done</type><content>4</content>", Done("4")),
    ("complete, then one cut", "<type>code</type><content>a</content>\n<type>code</type>\n<content>\nb", Code("a")),
    (
        "forgot to close the first",
        "<type>search</type>\n<content>\na\n<type>code</type>\n<content>\nb\n</content>",
        Code("b"),
    ),
    # The content.
    ("fence", "<type>code</type>\n<content>\n```python\nx = 1\n```\n</content>", Code("x = 1")),
    ("fence without a language", "<type>code</type><content>```\nx = 1\n```</content>", Code("x = 1")),
    ("fence left open", "<type>code</type>\n<content>\n```py\nx = 1\n</content>", Code("x = 1")),
    (
        "fence in a summary",
        "<type>code_summary</type>\n<content>\n```python\nx = 1\n```\n</content>",
        CodeSummary("x = 1"),
    ),
    (
        "fence in an answer stays",
        "<type>done</type>\n<content>\n```python\nx = 1\n```\n</content>",
        Done("```python\nx = 1\n```"),
    ),
    (
        "fence within the code stays",
        '<type>code</type>\n<content>\ns = """\n```\n"""\n</content>',
        Code('s = """\n```\n"""'),
    ),
    (
        "raw brackets",
        "<type>code</type>\n<content>\nok = a < b and c > d & e\n</content>",
        Code("ok = a < b and c > d & e"),
    ),
    (
        "escaped throughout",
        "<type>code</type>\n<content>\nok = a &lt; b &amp;&amp; print(&quot;x&quot;)\n</content>",
        Code('ok = a < b && print("x")'),
    ),
    (
        "entity in a string stays",
        "<type>code</type>\n<content>\ns = s.replace('&lt;', 'x')\n</content>",
        Code("s = s.replace('&lt;', 'x')"),
    ),
    (
        "entity beside a bracket stays",
        "<type>code</type>\n<content>\nx = a < b  &amp; c\n</content>",
        Code("x = a < b  &amp; c"),
    ),
    (
        "entity in an answer stays",
        "<type>done</type><content>&lt; is written &amp;lt;</content>",
        Done("&lt; is written &amp;lt;"),
    ),
    ("CDATA", "<type>code</type>\n<content><![CDATA[\nx = a < b\n]]></content>", Code("x = a < b")),
    ("CDATA within lines", "<type>code</type>\n<content>\n<![CDATA[\nx = a < b\n]]>\n</content>", Code("x = a < b")),
    (
        "indented to fit the tags",
        "<type>code</type>\n  <content>\n    if x:\n        y()\n  </content>",
        Code("if x:\n    y()"),
    ),
    ("tags in the code", '<type>code</type>\n<content>\nprint("<content>")\n</content>', Code('print("<content>")')),
    (
        "closing tag in the code",
        '<type>code</type>\n<content>\nprint("</content>")\n</content>',
        Code('print("</content>")'),
    ),
    ("queries", "<type>search</type>\n<content>\na\n\nname: b*\n</content>", Search("a\n\nname: b*")),
    (
        "other scripts",
        "<thought>да</thought><type>done</type><content>答え：四十二</content>",
        Done("答え：四十二", "да"),
    ),
    # Types.
    ("type in capitals", "<type>CODE</type><content>x</content>", Code("x")),
    ("type in quotes", '<type>"code"</type><content>x</content>', Code("x")),
    ("type with a hyphen", "<type>code-summary</type><content>x</content>", CodeSummary("x")),
    ("type with a space", "<type>Code Summary</type><content>x</content>", CodeSummary("x")),
    ("type python", "<type>python</type><content>x</content>", Code("x")),
    ("type execute", "<type>execute</type><content>x</content>", Code("x")),
    ("type es_search", "<type>es_search</type><content>x</content>", Search("x")),
    ("type final_answer", "<type>final_answer</type><content>x</content>", Done("x")),
    ("type Final Answer", "<type>Final Answer</type><content>x</content>", Done("x")),
    # No tags, but clearly a step.
    ("a code block alone", "```python\nx = 1\n```", Code("x = 1")),
    ("a thought and a code block", "<thought>w</thought>\n```python\nx = 1\n```\n", Code("x = 1", "w")),
    ("prose that ends with a code block", "I count them.\n\n```python\nx = 1\n```", Code("x = 1", "I count them.")),
    ("a sentence behind it", "Use this:\n```python\nx\n```\nThis prints the area.", Code("x", "Use this:")),
    # Forms of other agents.
    ("an object", '{"thought": "w", "type": "code", "content": "x = 1\\ny = 2"}', Code("x = 1\ny = 2", "w")),
    ("an object with line ends in its text", '{"type": "code", "content": "x = 1\ny = 2"}', Code("x = 1\ny = 2")),
    ("an object in a fence", '```json\n{\n "type": "search",\n "content": "q"\n}\n```', Search("q")),
    ("prose, then an object", 'I look.\n{"type": "search", "content": ["a", "b"]}', Search("a\nb", "I look.")),
    ("an object with a number", '{"type": "done", "content": 42}', Done("42")),
    ("two objects", '{"type": "code", "content": "a"}\n{"type": "done", "content": "3"}', Code("a")),
    (
        "a tool call",
        '<tool_call>\n{"name": "search", "arguments": {"query": "mean"}}\n</tool_call>',
        Search("mean"),
    ),
    (
        "a tool call with prose and a thought",
        'Now.\n<tool_call>{"name": "execute", "arguments": {"thought": "w", "code": "x = 1"}}</tool_call>',
        Code("x = 1", "w"),
    ),
    ("a tool call left open", '<tool_call>{"name": "final_answer", "arguments": "{\\"answer\\": 4}"}', Done("4")),
    (
        "a tool call written as JSON, over and over",
        '```json\n{\n "name": "search",\n "arguments": {"thought": "t", "content": "mean"}\n}\n```\n' * 2,
        Search("mean", "t"),
    ),
    ("a tool call of our keys", '<tool_call>{"name": "code", "arguments": {"content": "x"}}</tool_call>', Code("x")),
    ("the type as an attribute", '<action type="code">\nx = 1\n</action>', Code("x = 1")),
    ("the type as an attribute, left open", "Now.\n<action type='search'>mean", Search("mean", "Now.")),
    (
        "the type as an attribute, with our tags inside",
        '<action type="done"><thought>w</thought><content>42</content></action>',
        Done("42", "w"),
    ),
    (
        "an object in the thinking",
        '<think>{"type": "done", "content": "1"}</think>{"type": "search", "content": "q"}',
        Search("q"),
    ),
]

BROKEN: list[tuple[str, str, bool, str]] = [
    ("nothing", "", False, "no_action"),
    ("space", " \n\t ", False, "no_action"),
    ("prose", "The answer is 42.", False, "no_action"),
    ("prose around a code block", "Use this:\n```python\nx\n```\nThen:\n\n1. call it", False, "no_action"),
    ("an object with other keys", '{"type": "code", "content": "x", "id": 3}', False, "no_action"),
    ("an object that was cut", '{"type": "code", "content": "x = 1', True, "truncated"),
    ("an object of no type", '{"type": "fly", "content": "x"}', False, "unknown_type"),
    ("a call of no type", '<tool_call>{"name": "fly", "arguments": {}}</tool_call>', False, "unknown_type"),
    ("an empty object", '{"type": "code", "content": ""}', False, "empty_content"),
    ("data", 'The entries are:\n{"name": "a"}\n{"name": "b"}', False, "no_action"),
    ("an attribute, cut off", '<action type="code">\nx = ', True, "truncated"),
    ("two code blocks", "```python\nx\n```\nand\n```python\ny\n```", False, "no_action"),
    ("another language", "```bash\nls\n```", False, "no_action"),
    ("a type and a code block", "<type>search</type>\n```python\nx\n```", False, "no_action"),
    ("only a type", "<type>code</type>", False, "no_action"),
    ("only a content", "<content>x</content>", False, "no_action"),
    ("only thinking", "<think><type>code</type><content>x</content></think>", False, "no_action"),
    ("thinking without end", "<think>so <type>code</type><content>x</content>", False, "no_action"),
    ("unknown type", "<type>dance</type><content>x</content>", False, "unknown_type"),
    ("empty type", "<type></type><content>x</content>", False, "unknown_type"),
    ("a type that may be prose", "<type>summary</type><content>x</content>", False, "unknown_type"),
    ("a sentence for a type", "<type>run the code now</type><content>x</content>", False, "unknown_type"),
    ("our mark of an invalid answer", "<type>invalid</type><content>x</content>", False, "unknown_type"),
    ("empty content", "<type>code</type><content></content>", False, "empty_content"),
    ("blank content", "<type>done</type>\n<content>\n\n  \n</content>", False, "empty_content"),
    ("empty fence", "<type>code</type>\n<content>\n```python\n```\n</content>", False, "empty_content"),
    ("content never begun", "<type>code</type><content>", False, "empty_content"),
    ("cut in the code", "<type>code</type>\n<content>\nimport os\nos.remo", True, "truncated"),
    ("cut in the closing tag", "<type>code</type>\n<content>\nx = 1\n</cont", True, "truncated"),
    ("cut in the answer", "<type>done</type><content>It is not", True, "truncated"),
    ("cut in the thought", "<thought>First I", True, "truncated"),
    ("cut in the thinking", "<think>First I", True, "truncated"),
    ("cut before anything", "", True, "truncated"),
    ("cut behind a code block", "```python\nx = 1\n```", True, "truncated"),
]


@pytest.mark.parametrize(("text", "action"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_read(text: str, action: Action) -> None:
    assert parse(text, TYPES) == action


@pytest.mark.parametrize(("text", "truncated", "rule"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_broken_rules_are_named_and_the_right_form_is_shown(text: str, truncated: bool, rule: str) -> None:
    read = parse(text, TYPES, truncated=truncated)
    assert isinstance(read, InvalidAction)
    assert read.rule == rule
    assert not read.ok
    sentence, form = read.text.split("\n", 1)
    assert sentence.endswith(".")
    assert len(read.text) < 800
    shown = parse(form.split("\n\nIf your text")[0], TYPES)
    assert isinstance(shown, Action), "the form that is shown must itself be valid"


def test_the_form_shown_is_that_of_the_type_the_model_tried() -> None:
    read = parse("<type>ask</type><content></content>", TYPES)
    assert "<type>ask</type>" in read.text  # type: ignore[union-attr]


def test_an_unknown_type_is_quoted_and_the_known_ones_are_named() -> None:
    read = parse("<type>dance\nwildly</type><content>x</content>", {"search": Search, "done": Done})
    assert isinstance(read, InvalidAction)
    assert "'dance wildly'" in read.text
    assert "search, done" in read.text
    assert "code" not in read.text


def test_prose_is_told_how_to_end() -> None:
    with_done = parse("The answer is 42.", TYPES)
    without = parse("The answer is 42.", {"code": Code})
    assert isinstance(with_done, InvalidAction) and "done action" in with_done.text
    assert isinstance(without, InvalidAction) and "done" not in without.text.replace("nothing was done", "")


def test_a_complete_action_counts_though_the_rest_was_cut() -> None:
    text = "<type>code</type>\n<content>\nx\n</content>\nNow I will"
    assert parse(text, TYPES, truncated=True) == Code("x")


def test_synonyms_only_stand_in_for_types_in_play() -> None:
    read = parse("<type>python</type><content>x</content>", {"search": Search})
    assert isinstance(read, InvalidAction) and read.rule == "unknown_type"


def test_a_type_of_the_user_wins_over_a_synonym() -> None:
    @dataclass(frozen=True)
    class Python(Action):
        type: str = "python"

    assert parse("<type>python</type><content>x</content>", {**TYPES, "python": Python}) == Python("x")


def test_an_action_class_of_the_user() -> None:
    types = {**TYPES, "bash": Bash}
    assert parse("<type>bash</type>\n<content>\nls | wc -l\n</content>", types) == Bash("ls | wc -l")
    assert parse("<type>bash</type>\n<content>\n```bash\nls\n```\n</content>", types) == Bash("ls")
    read = parse("<type>bash</type><content></content>", types)
    assert isinstance(read, InvalidAction) and "<type>bash</type>" in read.text


NASTY = [
    "x",
    "\n\nx\n\n",
    "x  \n  y  ",
    'print("<content>")',
    'print("</content>")',
    's = "</content></content>"\nt = 1',
    's = "<type>done</type><content>"',
    's = "<type>done</type><content>no</content>"',
    's = "<action><type>code</type><content>y</content></action>"',
    '"""\n<thought>t</thought>\n<type>code</type>\n<content>\n1\n</content>\n"""',
    "t = '<thought>'\nu = '</thought>'",
    "a = '<type>'\nb = '<content>'",
    "<think>not thinking</think>",
    "x = '</think>'",
    's = "&lt;b&gt; &amp; &quot;"',
    "a < b > c & d",
    "<![CDATA[ is how XML starts a literal",
    "x = 1  # ends with </",
    "f'''\n```python\nx\n```\n'''",
    "# äöü 漢字 🙂 \u2028 \x00 \x1b[31m",
    "\\n \\t \\\\",
    "if x:\n    y\n",
]


@pytest.mark.parametrize("content", NASTY)
@pytest.mark.parametrize("kind", [Search, Code, CodeSummary, Ask, Done])
@pytest.mark.parametrize("thought", ["", "Because it is <b>so</b> & more.\nTwo lines."])
def test_round_trip(kind: type[Action], content: str, thought: str) -> None:
    action = kind(content, thought)
    assert parse(action.to_xml(), TYPES) == action


PIECES = [
    "<action>", "</action>", "<thought>", "</thought>", "<type>", "</type>", "<content>", "</content>", "</content",
    "<think>", "</think>", "<thinking>", "<", "</", ">", "&lt;", "&amp;", "```", "```python\n", "<![CDATA[", "]]>",
    "\n", "\r\n", " ", "code", "search", "done", "x = 1", "'", '"""', "\\", "\x00", "\ud800", "漢", "<type>code</type>",
    "<type>code</type>\n<content>\n",
]  # fmt: skip


def test_no_splice_of_tags_raises() -> None:
    dice = random.Random(20240618)
    for _ in range(20_000):
        text = "".join(dice.choices(PIECES, k=dice.randint(0, 30)))
        truncated = dice.random() < 0.5
        read = parse(text, TYPES, truncated=truncated)
        if isinstance(read, InvalidAction):
            assert read.rule in ("no_action", "unknown_type", "empty_content", "truncated")
        else:
            assert type(read) in TYPES.values()
            assert read.content.strip()


@pytest.mark.parametrize(
    "unit",
    ["<content>", "</content>", "</content", "<type>code</type><content>", "<type>code</type>\n<content>\n", "<type>",
     "<think>", "<thought>", "</", "< ", "'\\", '"""&lt;', "``` \n", "<type>code</type><content>a</content>",
     "<type>code</type>x<thought><content>", "&lt;'", "</ ", "\n ",
     '{"a":', "\n{", "<tool_call>{", "<action type=code>", "```python\n"],
)  # fmt: skip
@pytest.mark.parametrize("head", ["", "<type>code</type>\n<content>\n"])
def test_a_megabyte_of_one_thing_is_read_in_linear_time(head: str, unit: str) -> None:
    # Quadratic work would take minutes here; no clock is read.
    read = parse(head + unit * (1_000_000 // len(unit)), TYPES)
    assert isinstance(read, Action | InvalidAction)
