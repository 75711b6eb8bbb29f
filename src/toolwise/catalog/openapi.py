"""OpenAPI 3 documents -> one tool per operation.

A tool's parameters are one object schema: path, query and header parameters,
and the properties of a JSON body (or ``body`` where the body is no object).
Component schemas stay references, into the tool's own ``$defs``; so cycles stay
cycles and nothing is spelled out twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from toolwise.catalog.merge import unique
from toolwise.catalog.normalise import ABSENT, make_tool, problems
from toolwise.catalog.openapi_refs import Document
from toolwise.catalog.plain import Fault
from toolwise.catalog.shape import shape_of
from toolwise.errors import UnknownFormat
from toolwise.records import Catalogue, Json, Problem, Tool, as_mapping
from toolwise.schema import escape, kind
from toolwise.text import split_identifier

DEFINITIONS = 64
"""Component schemas that the parameters of one tool carry along; the nearest ones."""
RETURNED = 16
"""The same of what it returns."""

_READING = {"readOnlyHint": True}
_CHANGING = {"readOnlyHint": False}
_DELETING = {"readOnlyHint": False, "destructiveHint": True}
_METHODS: Mapping[str, dict[str, bool]] = {
    "get": _READING,
    "head": _READING,
    "options": _READING,
    "trace": _READING,
    "put": _CHANGING,
    "patch": _CHANGING,
    "post": _CHANGING,
    "delete": _DELETING,
    "query": _READING,
}
_SENT_BY_CLIENT = ("accept", "content-type", "authorization")
"""Header parameters that OpenAPI says to ignore."""


class OpenApiReader:
    """Reads OpenAPI 3.0 to 3.2; ids are ``server/name``.

    The server is the one given, else the document's title as a slug, else the
    file name.  Behaviour hints follow from the HTTP method.
    """

    def recognises(self, content: object) -> bool:
        """Whether ``content`` is an OpenAPI document of any version."""
        return shape_of(content) == "openapi"

    def read(self, content: object, source: str, server: str) -> Catalogue:
        """Read every operation.  Raises UnknownFormat for Swagger 2 and for a document without paths."""
        document = content if isinstance(content, dict) else {}
        _check_version(document, source)
        title = as_mapping(document.get("info")).get("title")
        name = server or _slug(title if isinstance(title, str) else "") or _slug(PurePath(source).stem)
        tools: list[Tool] = []
        found: list[Problem] = []
        for place in _operations(document):
            tool, more = place.tool(source, name)
            tools += [tool] if tool else []
            found += more
        return unique(tools, found, source)


def _check_version(document: dict[str, Json], source: str) -> None:
    version = str(document.get("openapi", document.get("swagger", "")))[:20]
    if "swagger" in document and "openapi" not in document:
        raise UnknownFormat(
            f"{source} is Swagger {version}; expected OpenAPI 3. Convert it, for instance with "
            "`npx swagger2openapi`.",
            source=source,
            version=version,
        )
    if not isinstance(document.get("paths"), dict):
        raise UnknownFormat(
            f"{source}: 'paths' is {kind(document.get('paths'))}; expected an object with the operations.",
            source=source,
            version=version,
        )


def _slug(text: str) -> str:
    return "-".join(split_identifier(text))[:60].strip("-")


def _operations(document: dict[str, Json]) -> Iterator[_Operation]:
    whole = Document(document)
    for path, item in document["paths"].items():
        at = f"/paths/{escape(path)}"
        if path.startswith("x-"):
            continue
        entry, _ = whole.followed(item)
        if not isinstance(entry, dict):
            yield _Operation(whole, path, "", at, item)
            continue
        for method in entry:
            if method in _METHODS:
                yield _Operation(
                    whole, path, method, f"{at}/{method}", entry[method], entry.get("parameters")
                )


@dataclass(slots=True)
class _Operation:
    """One operation of a document, on its way to a tool."""

    document: Document
    path: str
    method: str
    at: str
    operation: Json
    shared: Json = None
    """The parameters of all operations of the path."""
    faults: list[Fault] = field(default_factory=list)
    properties: dict[str, Json] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def tool(self, source: str, server: str) -> tuple[Tool | None, list[Problem]]:
        """The tool, or None where there is no operation here, and the problems."""
        name = self._name()
        tool_id = f"{server}/{name}" if server else name
        if not self.method or not isinstance(self.operation, dict):
            message = f"is {kind(self.operation)}; expected {'an operation' if self.method else 'operations'}"
            return None, [Problem(source, tool_id, self.at, message, kept=False)]
        self._parameters(self.shared, self.at.rpartition("/")[0])
        self._parameters(self.operation.get("parameters"), self.at)
        self._body()
        tool, found = make_tool(
            id=tool_id,
            name=name,
            server=server,
            description=self._description(),
            parameters=self._schema(),
            returns=self._returns(),
            annotations=dict(_METHODS[self.method]),
            source="openapi",
            pointers={"description": f"{self.at}/description", "parameters": self.at, "returns": self.at},
        )
        return tool, problems([*self.faults, *found], source=source, tool=tool.id)

    def _name(self) -> str:
        stated = as_mapping(self.operation).get("operationId")
        if isinstance(stated, str) and stated.strip():
            return stated.strip()
        return "_".join([self.method, *split_identifier(self.path)]).strip("_")

    def _description(self) -> Json:
        texts = [self.operation.get(key) for key in ("summary", "description")]
        parts = list(dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and text.strip()))
        return "\n".join(parts) if parts else ABSENT

    def _schema(self) -> dict[str, Json]:
        schema: dict[str, Json] = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = list(dict.fromkeys(self.required))
        closed, complete = self.document.closed(schema, DEFINITIONS)
        if not complete:
            self.faults.append(
                (self.at, f"refers to more than {DEFINITIONS} schemas; the rest admit anything")
            )
        return closed

    def _parameters(self, listed: Json, at: str) -> None:
        """Add the parameters of one list; those of the operation replace those of its path."""
        if listed is None:
            return
        if not isinstance(listed, list):
            self.faults.append((f"{at}/parameters", f"is {kind(listed)}; expected a list"))
            return
        for i, item in enumerate(listed):
            where = f"{at}/parameters/{i}"
            parameter, failure = self.document.followed(item)
            if failure or not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
                message = failure or "is no parameter with a name"
                self.faults.append((where, f"{message}; the parameter is left out"))
            else:
                self._parameter(parameter, where)

    def _parameter(self, parameter: dict[str, Json], where: str) -> None:
        name, place = parameter["name"], parameter.get("in")
        if place == "cookie" or (place == "header" and name.lower() in _SENT_BY_CLIENT):
            return
        if place not in ("path", "query", "header", "querystring"):
            self.faults.append((f"{where}/in", f"is {str(place)[:40]!r}; expected path, query or header"))
        schema = parameter.get("schema", _json_content(parameter).get("schema", {}))
        self.properties[name] = self._described(schema, parameter.get("description"))
        if parameter.get("required") is True or place == "path":
            self.required.append(name)
        elif name in self.required:
            self.required.remove(name)

    def _described(self, schema: Json, description: Json) -> Json:
        """The schema with the parameter's description, where it has none of its own."""
        if not isinstance(schema, dict):
            return schema
        if isinstance(description, str) and "description" not in schema:
            return {**schema, "description": description}
        return schema

    def _body(self) -> None:
        body, failure = self.document.followed(self.operation.get("requestBody"))
        if failure:
            self.faults.append((f"{self.at}/requestBody", f"{failure}; the body is left out"))
        if not isinstance(body, dict):
            return
        schema = _json_content(body).get("schema")
        inner, failure = self.document.followed(schema)
        if failure:
            self.faults.append((f"{self.at}/requestBody", f"{failure}; the body is taken as any value"))
            inner, schema = None, {}
        needed = body.get("required") is True
        if isinstance(inner, dict) and isinstance(inner.get("properties"), dict):
            self._flat_body(inner, needed=needed)
        elif schema is not None:
            self.properties[self._free("body")] = self._described(schema, body.get("description"))
            self.required += ["body"] if needed else []

    def _flat_body(self, schema: dict[str, Json], *, needed: bool) -> None:
        listed = schema.get("required")
        required = listed if isinstance(listed, list) and needed else []
        for name, child in schema["properties"].items():
            free = self._free(name)
            self.properties[free] = child
            self.required += [free] if name in required else []

    def _free(self, name: str) -> str:
        """``name``, or ``body_name`` where a parameter has it already."""
        while name in self.properties:
            name = f"body_{name}"
        return name

    def _returns(self) -> Json:
        responses = as_mapping(self.operation.get("responses"))
        good = sorted(code for code in responses if re.fullmatch(r"2\d\d|2XX", str(code))) or ["default"]
        answer, _ = self.document.followed(responses.get(good[0]))
        schema = _json_content(as_mapping(answer)).get("schema")
        return self.document.closed(schema, RETURNED)[0] if isinstance(schema, dict) else None


def _json_content(holder: Mapping[str, Any]) -> Mapping[str, Json]:
    """The media type object that describes JSON best; the first one where none does."""
    content = as_mapping(holder.get("content"))
    ranked = sorted(content, key=lambda name: (name != "application/json", "json" not in name))
    return as_mapping(content[ranked[0]]) if ranked else {}
