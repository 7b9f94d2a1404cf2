"""Extracts the metrics and labels that a PromQL expression uses.

It reads tokens and does not parse. Only `promtool` checks whether an expression is valid.
"""

import re
from typing import NamedTuple

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\[[^\]]*\]|[A-Za-z_:][A-Za-z0-9_:]*|[0-9][\w.]*|=~|!~|!=|\S')
NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
# Keywords that precede a list of labels in parentheses.
BY_LABELS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
AGGREGATIONS = {
    "sum", "min", "max", "avg", "group", "stddev", "stdvar", "count", "count_values", "bottomk", "topk", "quantile",
}
WORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan", "atan2"}


class Matcher(NamedTuple):
    metric: str
    label: str
    value: str


class Named(NamedTuple):
    metrics: set[str]
    # Comparisons of a label with a value, in a metric's braces.
    matchers: list[Matcher]
    # Labels of groupings and joins.
    labels: set[str]


def named(expression: str) -> Named:
    """Returns the metrics, label matchers and grouping labels of an expression."""
    metrics: set[str] = set()
    matchers: list[Matcher] = []
    labels: set[str] = set()
    tokens = TOKEN.findall(expression)
    at = 0
    metric = ""
    while at < len(tokens):
        token, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
        if token == "{":
            end = tokens.index("}", at)
            for place in range(at + 1, end):
                if tokens[place + 1] in ("=", "!=", "=~", "!~"):
                    matchers.append(Matcher(metric, tokens[place], tokens[place + 2].strip("\"'")))
            at = end
        elif token in BY_LABELS:
            if following == "(":
                end = tokens.index(")", at)
                labels |= {word for word in tokens[at + 2 : end] if NAME.fullmatch(word)}
                at = end
        elif NAME.fullmatch(token) and token.lower() not in WORDS and following != "(":
            # The labels of an aggregation may precede its parentheses.
            if not (token in AGGREGATIONS and following in BY_LABELS):
                metric = token
                metrics.add(token)
        at += 1
    return Named(metrics, matchers, labels)

