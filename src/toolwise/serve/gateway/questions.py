"""What a server asks while it works on a call, made fit for the client: named, cleaned, or refused.

Three things can be asked: a person for input (elicitation), the agent's model
for a text (sampling), and the client for the folders it works in (roots).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    AudioContent,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ImageContent,
    InputRequest,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import ValidationError

from toolwise.hygiene import clean, hidden_spans
from toolwise.records import as_mapping
from toolwise.schema import legible
from toolwise.serve.gateway.asking import Asker
from toolwise.serve.gateway.gateway import Gateway, Request
from toolwise.serve.gateway.memory import Call
from toolwise.serve.gateway.settings import is_loopback

_LONGEST = 2_000
"""Characters of a server's message that a person is shown, and of an address."""
_LARGEST = 20_000
"""Characters of the schema of a form."""
_HOST = re.compile(r"[a-z0-9._:-]+")
_PLAIN = (TextContent, ImageContent, AudioContent)
_ANSWERS: Mapping[str, type[InputResponse]] = {
    "elicitation/create": ElicitResult,
    "sampling/createMessage": CreateMessageResult,
    "roots/list": ListRootsResult,
}


def asker(gateway: Gateway, request: Request) -> Asker:
    """How the client of ``request`` is asked during one call."""
    return Asker(request.client, partial(put, gateway, request) if request.reply else None)


async def put(
    gateway: Gateway, request: Request, server: str, question: InputRequest
) -> InputResponse | ErrorData:
    """Put a question of ``server`` to the client of ``request``; the answer, or the error for the server."""
    start = time.perf_counter()
    fit = fitted(server, question, request.capabilities or ClientCapabilities(), legacy=request.legacy)
    answer = fit if isinstance(fit, ErrorData) else await _answered(gateway, request, fit)
    outcome = "refused" if answer is fit else "error" if isinstance(answer, ErrorData) else "ok"
    detail = answer.action if isinstance(answer, ElicitResult) else ""
    spent = 1000 * (time.perf_counter() - start)
    call = Call(f"{server} {question.method}", None, {}, outcome, detail, spent)
    gateway.memory.called(request.caller, call, None)
    return answer


async def _answered(gateway: Gateway, request: Request, question: InputRequest) -> InputResponse | ErrorData:
    if request.reply is None:
        return _refusal("the client whose call this is cannot be asked")
    limit = gateway.settings.approval_timeout
    try:
        with anyio.fail_after(limit):
            answer = await request.reply(question)
    except TimeoutError:
        return ErrorData(code=REQUEST_TIMEOUT, message=f"nobody has answered within {limit:g} s")
    except MCPError as error:  # the words of one client are not for the server of others
        return ErrorData(code=error.code, message="the client answered with an error")
    except ValidationError:
        return ErrorData(code=INTERNAL_ERROR, message="the client gave an answer the protocol does not know")
    if not isinstance(answer, _ANSWERS[question.method]):
        return ErrorData(code=INTERNAL_ERROR, message="the client gave an answer to another question")
    return answer


def fitted(
    server: str, question: InputRequest, client: ClientCapabilities, *, legacy: bool
) -> InputRequest | ErrorData:
    """``question`` as the client may see it; the error for ``server`` where it may not, or cannot."""
    match question:
        case ElicitRequest(params=ElicitRequestFormParams() as form):
            return _form(server, form, client)
        case ElicitRequest(params=ElicitRequestURLParams() as page):
            return _page(server, page, client, legacy)
        case CreateMessageRequest(params=params):
            return _sampling(server, params, client)
        case _:
            if client.roots is None:
                return _refusal("this client shows no roots")
            return ListRootsRequest()


def fills_in_forms(client: ClientCapabilities | None) -> bool:
    """Whether a client can ask a person for input; one that says no more than that it elicits has forms."""
    can = client.elicitation if client is not None else None
    return can is not None and (can.form is not None or can.url is None)


def _form(
    server: str, asked: ElicitRequestFormParams, client: ClientCapabilities
) -> InputRequest | ErrorData:
    if not fills_in_forms(client):
        return _refusal("this client cannot ask a person to fill in a form")
    schema = dict(as_mapping(legible(asked.requested_schema)))
    try:  # texts are clean now; what is left of hidden characters is in names, choices and defaults
        written = json.dumps(schema, ensure_ascii=False)
    except RecursionError:
        written = ""
    if not written or len(written) > _LARGEST or hidden_spans(written):
        return ErrorData(code=INVALID_PARAMS, message="the form is too large, or has hidden characters in it")
    message = _quoted(f"The server {server!r}, not toolwise, asks:", asked.message)
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _page(
    server: str, asked: ElicitRequestURLParams, client: ClientCapabilities, legacy: bool
) -> InputRequest | ErrorData:
    if client.elicitation is None or client.elicitation.url is None:
        return _refusal("this client cannot ask a person to open a page")
    host = host_of(asked.url)
    if not host:
        return ErrorData(code=INVALID_PARAMS, message="the address is not one that a person can judge")
    message = _quoted(f"The server {server!r}, not toolwise, asks to open a page of {host}:", asked.message)
    named = (asked.elicitation_id or uuid4().hex) if legacy else None  # 2026-07-28 has no such name
    return ElicitRequest(params=ElicitRequestURLParams(message=message, url=asked.url, elicitation_id=named))


def host_of(url: str) -> str:
    """Whose page it is, as a person should read it; empty for an address that hides it, or is not safe.

    Safe is https, and http on this machine.  Letters beyond ASCII have to be written in punycode.
    """
    if len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return ""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if "@" in parts.netloc or not _HOST.fullmatch(host):
        return ""
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        return ""
    host = f"[{host}]" if ":" in host else host
    return host if port is None else f"{host}:{port}"


def _sampling(
    server: str, asked: CreateMessageRequestParams, client: ClientCapabilities
) -> InputRequest | ErrorData:
    if client.sampling is None:
        return _refusal("this client lends its model to nobody")
    parts = [part for message in asked.messages for part in message.content_as_list]
    if asked.tools or asked.tool_choice or not all(isinstance(part, _PLAIN) for part in parts):
        return ErrorData(code=INVALID_PARAMS, message="tools for the model are not passed on")
    given = f"This is asked by the MCP server {server!r}, not by the user."
    own = clean(asked.system_prompt or "")
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=[_said(message) for message in asked.messages],
            system_prompt=f"{given}\n\n{own}" if own else given,
            include_context="none",  # it would hold what other servers have said
            max_tokens=asked.max_tokens,
            temperature=asked.temperature,
            stop_sequences=asked.stop_sequences,
            model_preferences=asked.model_preferences,
        )
    )


def _said(message: SamplingMessage) -> SamplingMessage:
    parts = message.content if isinstance(message.content, list) else [message.content]
    cleaned = [
        TextContent(type="text", text=clean(part.text)) if isinstance(part, TextContent) else part
        for part in parts
    ]
    return SamplingMessage(
        role=message.role, content=cleaned if isinstance(message.content, list) else cleaned[0]
    )


def _quoted(heading: str, message: str) -> str:
    """The words of a server under a heading of ours; each line is marked, so that none can pass for ours."""
    text = clean(message)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ..."
    lines = [line for line in text.splitlines() if line.strip()] or ["(it says nothing)"]
    return "\n".join([heading, *(f"> {line}" for line in lines)])


def _refusal(why: str) -> ErrorData:
    return ErrorData(code=INVALID_REQUEST, message=why)
