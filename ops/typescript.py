"""usage: typescript.py OPENAPI.json > poller.ts

Generates a typed TypeScript client from a server's OpenAPI description. The client is one file without
dependencies and runs wherever `fetch` exists: browsers, Node.js 18, Deno, Bun.

Each schema becomes a type with its name, and each operation a method of `Poller` with its name. A method takes the path
parameters, then the body, then an object with the query parameters and headers. The server checks the rules that types
cannot express, such as lengths, patterns and mutually exclusive fields. An unknown keyword or media type stops the
generation, because only users would discover the missing parts of a client.
"""

import json
import re
import sys
from pathlib import Path

# The schema keywords that a type can express. The keywords in SPOKEN are limits or descriptions.
TYPED = {"$ref", "type", "enum", "const", "oneOf", "anyOf", "not", "items", "properties", "required", "additionalProperties"}
SPOKEN = {
    "description", "default", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems",
    "maxItems", "maxProperties", "propertyNames", "writeOnly", "readOnly",
}
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
# The media types of request and response bodies. An operation's request body uses the first type of BODIES it accepts.
BODIES = {"application/json": "json", "application/x-www-form-urlencoded": "form", "application/x-ndjson": "text"}
ANSWERS = {"application/json": "json", "application/problem+json": "json", "text/html": "text", "text/javascript": "text"}
# The parameters of conditional requests. The response may be a 304, which has no value.
CONDITIONS = {"If-None-Match", "after_seq"}

HEAD = """\
// A client of the API of Poller, made by ops/clients from the description that a server gives of itself.
// Make it anew instead of changing it.

/** Where the server is, and how it is asked. */
export interface PollerOptions {
  /** Such as http://127.0.0.1:8080. */
  url: string;
  /** A key of the API; a server without keys serves its own machine. */
  key?: string;
  /** Another `fetch`, such as one with a proxy; the platform's own when it is absent. */
  fetch?: typeof globalThis.fetch;
}

/** What every call takes beside what its operation does. */
export interface CallOptions {
  /** Ends the call: whether the server has carried it out is unknown then. */
  signal?: AbortSignal;
}

/** What a server has answered. */
export interface Answer<Value> {
  status: number;
  /** null when there is none: 304. */
  value: Value;
  /** For If-None-Match and If-Match. */
  etag: string | null;
  /** Whether this is what an earlier request with the same Idempotency-Key was answered. */
  replayed: boolean;
  /** What to give an operator who looks into the server's log. */
  requestId: string | null;
}

/** The server said no, and what to do; decide by `problem.code`. */
export class PollerError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem | null,
    /** Seconds after which a repeat may work. */
    readonly retryAfter: number | null,
  ) {
    super(problem ? `${problem.title} ${problem.detail}` : `HTTP ${status}`);
    this.name = "PollerError";
  }
}

type Parameter = string | number | boolean | readonly string[] | undefined;

"""

CLASS = """\
/** The API, one method for each of its operations. */
export class Poller {
  constructor(private readonly options: PollerOptions) {}

  private async call<Value>(
    method: string,
    path: string,
    kind: "json" | "form" | "text" | null,
    body: unknown,
    query: Record<string, Parameter>,
    headers: Record<string, string | undefined>,
    signal: AbortSignal | undefined,
  ): Promise<Answer<Value>> {
    const url = new URL(this.options.url.replace(/\\/+$/, "") + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, Array.isArray(value) ? value.join(",") : String(value));
    }
    const sent = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) sent.set(name, value);
    }
    if (this.options.key !== undefined) sent.set("Authorization", `Bearer ${this.options.key}`);
    const init: RequestInit = { method, headers: sent };
    if (signal !== undefined) init.signal = signal;
    if (kind === "form") {
      init.body = new URLSearchParams(body as Record<string, string>);
    } else if (kind === "text") {
      init.body = String(body);
      sent.set("Content-Type", "application/x-ndjson");
    } else if (kind === "json" && body !== undefined) {
      init.body = JSON.stringify(body);
      sent.set("Content-Type", "application/json");
    }
    const response = await (this.options.fetch ?? globalThis.fetch)(url.toString(), init);
    const isJSON = /[/+]json\\b/.test(response.headers.get("Content-Type") ?? "");
    if (!response.ok && response.status !== 304) {
      const after = response.headers.get("Retry-After");
      const problem = isJSON ? ((await response.json()) as Problem) : null;
      throw new PollerError(response.status, problem, after === null ? null : Number(after));
    }
    const value = response.status === 304 ? null : isJSON ? await response.json() : await response.text();
    return {
      status: response.status,
      value: value as Value,
      etag: response.headers.get("ETag"),
      replayed: response.headers.get("Idempotent-Replayed") === "true",
      requestId: response.headers.get("X-Request-Id"),
    };
  }
"""


def fail(what: str) -> None:
    sys.exit(f"typescript.py: {what}")


def note(text: str | None, indent: str = "") -> str:
    """Returns a comment with lines of about 100 characters, or nothing without text."""
    if not text:
        return ""
    words, lines = text.replace("*/", "* /").split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 100:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def name_of(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_$][\w$]*", text) else json.dumps(text)


def union(types: list[str]) -> str:
    kept = list(dict.fromkeys(types))
    return "unknown" if "unknown" in kept else " | ".join(kept)


def typed(schema: dict, indent: str = "") -> str:
    """Returns the TypeScript type of a schema."""
    unknown = schema.keys() - TYPED - SPOKEN
    if unknown:
        fail(f"no type for the keywords {', '.join(sorted(unknown))} of {json.dumps(schema)[:200]}")
    if "$ref" in schema:
        return schema["$ref"].removeprefix("#/components/schemas/")
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return union([json.dumps(value) for value in schema["enum"]])
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not kinds:
        choices = schema.get("oneOf") or schema.get("anyOf")
        return union([typed(choice, indent) for choice in choices]) if choices else "unknown"
    return union([of_kind(kind, schema, indent) for kind in kinds])


def of_kind(kind: str, schema: dict, indent: str) -> str:
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == "array":
        item = typed(schema["items"], indent) if "items" in schema else "unknown"
        return f"Array<{item}>"
    if kind != "object":
        fail(f"no type {kind}")
    if "properties" not in schema:
        more = schema.get("additionalProperties")
        return f"Record<string, {typed(more, indent) if isinstance(more, dict) else 'unknown'}>"
    return members(schema, indent)


def members(schema: dict, indent: str) -> str:
    required, inner, text = schema.get("required", []), indent + "  ", "{\n"
    for name, member in schema["properties"].items():
        mark = "" if name in required else "?"
        text += note(member.get("description"), inner)
        text += f"{inner}{name_of(name)}{mark}: {typed(member, inner)};\n"
    return text + indent + "}"


def shape(name: str, schema: dict) -> str:
    text = note(schema.get("description"))
    if schema.get("type") == "object" and "properties" in schema:
        return f"{text}export interface {name} {members(schema, '')}\n\n"
    return f"{text}export type {name} = {typed(schema)};\n\n"


def camel(header: str) -> str:
    first, *rest = header.split("-")
    return first.lower() + "".join(rest)


def result(operation: dict) -> tuple[str, bool]:
    """Returns the type of a successful response, and whether the operation may respond with 304."""
    types, conditional = [], False
    for status, answer in operation["responses"].items():
        if status == "304":
            conditional = True
        elif "$ref" not in answer and status[0] in "23":
            content = answer.get("content", {})
            # A parameter such as format=csv may select another media type. JSON is preferred.
            told = {"application/json": content["application/json"]} if "application/json" in content else content
            for kind, body in told.items():
                if kind not in ANSWERS:
                    fail(f"{operation['operationId']} answers {kind}, which is not known here")
                types.append(typed(body["schema"], "    ") if ANSWERS[kind] == "json" else "string")
            if not content:
                types.append("string")
    return union(types), conditional


def fields_of(parameters: list[dict]) -> str:
    """Returns the members of a method's input object.

    Header names are in camel case.
    """
    text = ""
    for each in parameters:
        mark = "" if each.get("required") else "?"
        text += note(each.get("description"), "  ")
        text += f"  {field_of(each)}{mark}: {typed(each['schema'], '  ')} | undefined;\n"
    return text


def field_of(parameter: dict) -> str:
    return name_of(camel(parameter["name"]) if parameter["in"] == "header" else parameter["name"])


def sent(parameters: list[dict]) -> str:
    """Returns an object literal that maps the parameters' names in a request to the input's values."""
    parts = []
    for each in parameters:
        field = field_of(each)
        value = f"input[{field}]" if field.startswith('"') else f"input.{field}"
        parts.append(f"{name_of(each['name'])}: {value}")
    return "{ " + ", ".join(parts) + " }" if parts else "{}"


def method(verb: str, path: str, operation: dict) -> tuple[str, str]:
    """Returns the input type of an operation and its method."""
    name = operation["operationId"]
    alias = f"{name[0].upper()}{name[1:]}Input"
    parameters = operation.get("parameters", [])
    places = {place: [each for each in parameters if each["in"] == place] for place in ("path", "query", "header")}
    if len(parameters) != sum(map(len, places.values())):
        fail(f"{name} has parameters elsewhere than in path, query and headers")
    arguments = [f"{each['name']}: string" for each in places["path"]]
    body, kind = operation.get("requestBody"), None
    if body:
        media = next((media for media in BODIES if media in body["content"]), None)
        if media is None:
            fail(f"{name} takes {', '.join(body['content'])}, none of which is known here")
        kind = BODIES[media]
        wish = "Record<string, string>" if kind == "form" else typed(body["content"][media]["schema"], "    ")
        arguments.append(f"body{'' if body.get('required') else '?'}: {wish}")
    others = places["query"] + places["header"]
    isNeeded = any(each.get("required") for each in others)
    value, isConditional = result(operation)
    told = f"{value} | null" if isConditional else value

    def head(kind: str, mark: str, told: str, standard: str = "") -> str:
        lines = ",\n    ".join([*arguments, f"input{mark}: {kind}{standard}"])
        return f"{name}(\n    {lines},\n  ): Promise<Answer<{told}>>"

    about = note(". ".join(filter(None, [operation.get("summary", "").rstrip("."), operation.get("description")])), "  ")
    text = about
    if isConditional:
        # Without a condition the response is never a 304, so an overload excludes null.
        without = ", ".join(f"{field_of(each)}?: undefined" for each in others if each["name"] in CONDITIONS)
        text += f"  {head(f'{alias} & {{ {without} }}', '' if isNeeded else '?', value)};\n"
        text += f"  {head(alias, '', told)};\n"
    text += f"  async {head(alias, '', told, '' if isNeeded else ' = {}')} {{\n"
    target = re.sub(r"\{(\w+)\}", lambda found: "${encodeURIComponent(" + found[1] + ")}", path)
    given = [
        json.dumps(verb.upper()), f"`{target}`", json.dumps(kind), "body" if body else "undefined",
        sent(places["query"]), sent(places["header"]), "input.signal",
    ]
    text += f"    return this.call({', '.join(given)});\n  }}\n"
    taken = f"{{\n{fields_of(others)}}} & CallOptions" if others else "CallOptions"
    return f"/** What `{name}` takes beside its path and body. */\nexport type {alias} = {taken};\n\n", text


def main() -> None:
    document = json.loads(Path(sys.argv[1]).read_text())
    shapes = "".join(shape(name, schema) for name, schema in document["components"]["schemas"].items())
    operations = [(verb, path, each) for path, verbs in document["paths"].items() for verb, each in verbs.items()]
    inputs, methods = zip(*(method(*each) for each in operations), strict=True)
    print(HEAD + shapes + "".join(inputs) + CLASS, end="")
    print("".join("\n" + each for each in methods) + "}\n")
    names = [each["operationId"] for _, _, each in operations]
    listed = "".join(f"  {json.dumps(name)},\n" for name in names)
    print(f"/** Every operation that the description had when this was made. */\nexport const operations = [\n{listed}] as const;")


if __name__ == "__main__":
    main()
