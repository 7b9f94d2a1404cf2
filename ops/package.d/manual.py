"""usage: manual.py SECTION DATE HELP [OPTIONS] > PAGE

Generates a manual page from a program's own help. HELP is a file with the output of --experimental-dump-help. The page
lists every command with its options in the order of the help. OPTIONS is a file with the output of `pollerd
check-config --describe`, which becomes the section ENVIRONMENT.
"""

import json
import re
import sys
from pathlib import Path


def roff(text: str) -> str:
    """Escapes plain text for roff: backslashes, hyphens, and lines that start like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def bold(text: str) -> str:
    return f"\\fB{roff(text)}\\fR"


def placeholder(text: str) -> str:
    return f"\\fI{roff(text)}\\fR"


def spelling(name: dict) -> str:
    return ("-" if name["kind"] == "short" else "--") + name["name"]


def usage(argument: dict) -> str:
    """Returns an argument in the form of a synopsis."""
    more = " ..." if argument["isRepeating"] else ""
    if argument["kind"] == "positional":
        shown = placeholder(argument["valueName"]) + more
    else:
        shown = bold(spelling(argument["preferredName"]))
        if argument["kind"] == "option":
            shown += " " + placeholder(argument["valueName"])
        shown += more
    return f"[{shown}]" if argument["isOptional"] else shown


def explained(argument: dict) -> list[str]:
    """Returns the entry of an argument: its name, purpose, values and default."""
    if argument["kind"] == "positional":
        term = placeholder(argument["valueName"])
    else:
        term = ", ".join(bold(spelling(name)) for name in argument["names"])
        if argument["kind"] == "option":
            term += " " + placeholder(argument["valueName"])
    text = roff(argument.get("abstract", ""))
    if argument.get("allValues"):
        text += " One of " + ", ".join(map(bold, argument["allValues"])) + "."
    if argument.get("defaultValue"):
        text += f" Default: {bold(argument['defaultValue'])}."
    return [".TP", term, text.strip() or "No more is said of it."]


def shown(command: dict) -> list[dict]:
    """Returns a command's visible arguments, without those that every command has."""
    common = {"help", "version"}
    return [
        argument
        for argument in command.get("arguments", [])
        if argument["shouldDisplay"] and not common & {name["name"] for name in argument.get("names", [])}
    ]


def paragraphs(text: str) -> list[str]:
    lines = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines += [".PP", roff(part)]
    return lines


def describe(path: list[str], command: dict, top: bool = False) -> list[str]:
    """Returns the text of a command, followed by its subcommands."""
    lines = []
    below = [one for one in command.get("subcommands", []) if one["commandName"] != "help" and one.get("shouldDisplay", True)]
    if not top:
        lines += [f'.SS "{roff(" ".join(path))}"', roff(command.get("abstract", ""))]
        if not below:
            lines += [".PP", " ".join([bold(" ".join(path)), *map(usage, shown(command))])]
        if command.get("discussion"):
            lines += paragraphs(command["discussion"])
    if not (top and below):
        for argument in shown(command):
            lines += explained(argument)
    for one in below:
        lines += describe([*path, one["commandName"]], one)
    return lines


def page(root: dict, section: str, date: str, options: str) -> str:
    name = root["commandName"]
    commands = [one for one in root.get("subcommands", []) if one["commandName"] != "help"]
    lines = [
        f'.TH {roff(name).upper()} {section} "{date}" "Poller" ""',
        ".SH NAME",
        f"{roff(name)} \\- {roff(root['abstract'].rstrip('.'))}",
        ".SH SYNOPSIS",
        f"{bold(name)} {placeholder('COMMAND')} [{placeholder('OPTION')} ...]"
        if commands
        else " ".join([bold(name), *map(usage, shown(root))]),
    ]
    if root.get("discussion"):
        lines += [".SH DESCRIPTION", *paragraphs(root["discussion"])]
    lines += [".SH COMMANDS" if commands else ".SH OPTIONS", *describe([name], root, top=True)]
    if options.strip():
        lines += [".SH ENVIRONMENT", "Each option with its variable and its flag; its name is its key in a file as well."]
        for option in re.split(r"\n\s*\n", options.strip()):
            name, *rest = option.splitlines()
            lines += [".TP", bold(name.strip()), "\n.br\n".join(roff(line.strip()) for line in rest)]
    others = [other for other in ("pollerctl(1)", "stripe-sandbox(1)", "pollerd(8)", "pollerd-bench(8)") if not other.startswith(name + "(")]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other.split('(')[0])}\\fR({other[-2]})" for other in others)]
    return "\n".join(lines) + "\n"


def main() -> None:
    section, date, told, *options = sys.argv[1:]
    root = json.loads(Path(told).read_text())["command"]
    sys.stdout.write(page(root, section, date, Path(options[0]).read_text() if options else ""))


main()
