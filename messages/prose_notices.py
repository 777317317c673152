"""What the prose gateway writes to an agent: bounces, refused copies, the mode, and the help (prose 8.1, 9, 12).

Words and metadata only. The grammar is never put into a system prompt: it is taught by the first bounce and by the
`prose_help` tool.
"""

from .notices import Notice
from .prose.decisions import Bounce
from .prose.resolve import ChannelEntry, Unresolved
from .registry import ProseMode

PREFIX: dict[ProseMode, str] = {"explicit": ">>", "hybrid": ">>>"}

_REASONS = {
    "no-destination": "no destination was named before these words, and none is set in this turn",
    "unresolved": "the target names no channel and no person that is known",
    "resolver-error": "the target could not be looked up just now",
    "missing-target": "the prefix names no destination",
    "publish-failed": "the post was refused and did not arrive",
}
_DETAILS = {
    "ambiguous": "the target fits several", "no-dm": "no direct channel with that person is known",
    "empty": "the target is empty",
}


def _notice(kind: str, text: str, **extra: object) -> Notice:
    return Notice(text, {"system": True, "kind": kind, **{k: v for k, v in extra.items() if v is not None}})


def _named(entry: ChannelEntry) -> str:
    shown = f"{entry.label} ({entry.id})" if entry.label else entry.id
    return " ".join(shown.splitlines())  # a line break of a platform's name could forge a notice


def _why(bounce: Bounce) -> str:
    detail: Unresolved | None = bounce.detail
    why = _DETAILS.get(detail.reason, _REASONS[bounce.reason]) if detail is not None else _REASONS[bounce.reason]
    if detail is not None and detail.candidates:
        why += "; you may have meant " + ", ".join(_named(c) for c in detail.candidates)
    return why


def bounced(bounce: Bounce, mode: ProseMode, at_risk: bool) -> Notice:
    """Words that went nowhere: how many, why, where they are kept, how to say or drop them (prose 8.1)."""
    prefix = PREFIX.get(mode, ">>")
    lines = [f"[prose-routing] {len(bounce.text)} characters were not delivered: {_why(bounce)}."]
    if bounce.kept is not None:
        lines.append(
            f"The text is kept as draft {bounce.kept}. To deliver it unchanged, write {prefix}, then a channel or a "
            f"person, then {{{{unsent}}}}, for example `{prefix}#channel {{{{unsent}}}}` or "
            f"`{prefix}@name {{{{unsent}}}}`; or call the drafts tool with resend."
        )
        lines.append(f"To set it aside, write `{prefix}skip_reply {{{{unsent}}}}`.")
    elif bounce.text:
        lines.append("The text could not be kept as a draft; it remains in this history.")
    if at_risk:
        lines.append(
            "The words that you copied may be out already: look before you send them again, and confirm it in the "
            "drafts tool."
        )
    if mode == "explicit":
        lines.append("prose_help has the syntax.")
    return _notice("prose-bounce", " ".join(lines), draftId=bounce.kept, reason=bounce.reason)


def copy_refused(draft: str, state: str, mode: ProseMode, kept: str = "") -> Notice:
    """`{{unsent}}` stood for words that are on their way or may be out: nothing was sent (prose 9).

    `kept`: the draft of what stood beside it.
    """
    why = "are on their way already" if state == "in-flight" else "may be out already"
    text = (
        f"[prose-routing] Nothing was sent: {{{{unsent}}}} stands for draft {draft}, whose words {why}. "
        "Look at it with the drafts tool; to send it again all the same, call its resend with confirmDuplicate."
    )
    if kept:
        text += f" What you wrote beside it is kept as draft {kept}."
    if mode == "hybrid":
        text += " Plain text goes nowhere until you name a destination."
    return _notice("prose-bounce", text, draftId=draft)


def mode_changed(mode: ProseMode) -> Notice | None:
    """The one notice that the prose mode is another one now; disabled is recorded without a word (prose 12)."""
    if mode == "explicit":
        text = (
            "[prose-mode] From now on a line that begins with >> and a target is posted there, for example "
            "`>>#channel hello`; text without a destination is posted nowhere. Call prose_help for the syntax."
        )
    elif mode == "hybrid":
        text = (
            "[prose-mode] From now on a line that begins with >>> and a target is posted there, for example "
            "`>>>#channel hello`; recipients see only the words after it. "
            "Text without a prefix goes where it went before."
        )
    elif mode == "locus":
        text = "[prose-mode] From now on plain text goes to the channel of the turn by itself again; prefixes are text."
    else:
        return None
    return _notice("prose-routing-primer", text)


def wrapper_contained(tool: str) -> Notice:
    """An answer that only imitated a tool's call was contained: nothing was called, nothing was said."""
    text = (
        f"[tool-wrapper] Your answer was text in the shape of a call of {tool}. "
        "No tool was called and nothing was posted. "
        "Make the call itself, or answer in words."
    )
    return _notice("tool-wrapper-prose-contained", text, toolName=tool)


PROSE_HELP = """\
A line that begins with >> and a target opens a message; it goes on until the next such line.
  >>#channel words          to a channel, by its label or id
  >>@name words             to a person
  >>#channel ! words        the same, and you get another turn at once
  >>skip_reply words        to nobody; the words stay private
  >>#channel {{unsent}}     the words of the last bounce, unchanged
  >>skip_reply {{unsent}}   set the words of the last bounce aside
Text before the first such line goes where this turn last sent; where that is nowhere, it bounces and is kept.
>> before a space or at the end of a line is ordinary text."""
