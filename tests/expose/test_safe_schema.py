"""Schemas as model providers accept them."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolwise.expose.safe_schema import provider_safe

EMPTY = {"type": "object", "properties": {}}
Q = {"q": {"type": "string"}}
STRING, NUMBER = {"type": "string"}, {"type": "number"}


def safe(schema):
    """The rewritten schema: sound, an object at the root, and made without changing the original."""
    before = json.dumps(schema)  # deepcopy does not go 400 levels deep
    found, notes = provider_safe(schema)
    assert json.dumps(schema) == before
    Draft202012Validator.check_schema(found)
    assert found["type"] == "object"
    assert isinstance(found["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "$ref", "not", "enum"} & found.keys()
    json.dumps(found, allow_nan=False)
    assert len(notes) == len(set(notes))
    return found, notes


def accepts(schema, value) -> bool:
    """Whether ``value`` is valid."""
    return Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema", [None, True, {}, {"type": "object"}, {"type": "object", "properties": None}]
)
def test_no_schema_is_an_open_object(schema):
    """A tool without parameters."""
    assert safe(schema)[0] == EMPTY


@pytest.mark.parametrize("schema", [False, 3, "object", [], [{"type": "object"}]])
def test_what_is_no_schema_is_replaced_and_noted(schema):
    """The note says what was there."""
    found, notes = safe(schema)
    assert found == EMPTY
    assert len(notes) == 1
    assert type(schema).__name__ in notes[0]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": Q, "required": ["q"], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"anyOf": [STRING, {"type": "null"}], "default": None}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": STRING}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x%20y~1z"}}, "$defs": {"x y/z": STRING}},
        {
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        },
        {"type": "object", "properties": {"self": {"$ref": "#"}}},
        {"type": "object", "properties": Q, "required": []},
        {
            "type": "object",
            "properties": {"$ref": STRING, "type": NUMBER, "anyOf": {"type": "array"}, "required": STRING},
        },
        {"type": "object", "properties": {"a": {"enum": [None, {"$ref": "x"}], "const": {"$ref": "#/gone"}}}},
        {"type": "object", "properties": {"a": {"items": True, "type": ["array", "null"]}}, "title": "T"},
        {"type": "object", "properties": {"a": {"type": "string", "x-mine": {"deep": [1]}}}},
        {
            "type": "object",
            "properties": {"t": {"prefixItems": [STRING]}, "r": {"$ref": "#/properties/t/prefixItems/0"}},
        },
    ],
    ids=str,
)
def test_a_sound_schema_stays_as_it_is(schema):
    """Not a key moves, and there is no note."""
    assert safe(schema) == (schema, [])


def test_a_missing_type_is_filled_in():
    """Properties alone mean an object."""
    assert safe({"properties": Q})[0] == {"type": "object", "properties": Q}


@pytest.mark.parametrize(
    "declared", [["object"], ["object", "null"], ["null", "object"], None, "Object", 3, ["x"]]
)
def test_an_object_by_another_name_keeps_its_properties(declared):
    """A nullable object, or a type that is none, loses no parameter."""
    found, _ = safe({"type": declared, "properties": Q, "required": ["q"]})
    assert found == {"type": "object", "properties": Q, "required": ["q"]}


@pytest.mark.parametrize("declared", ["string", "array", ["string", "null"]])
def test_another_type_at_the_root_is_replaced(declared):
    """Hosts call tools with objects only; the note says what was there."""
    found, notes = safe({"type": declared, "items": STRING})
    assert found == EMPTY
    assert len(notes) == 1


def test_all_of_at_the_root_adds_up():
    """All properties and all that is required."""
    schema = {
        "allOf": [
            {"properties": {"a": STRING}, "required": ["a"]},
            {"properties": {"b": NUMBER}, "required": ["b"]},
        ],
        "properties": {"c": STRING},
        "required": ["c"],
    }
    found, notes = safe(schema)
    assert found["properties"] == {"a": STRING, "b": NUMBER, "c": STRING}
    assert sorted(found["required"]) == ["a", "b", "c"]
    assert notes == ["allOf at the root of the input schema was flattened"]


@pytest.mark.parametrize("combinator", ["anyOf", "oneOf"])
def test_alternatives_at_the_root_offer_all_properties(combinator):
    """Required is what every alternative requires."""
    schema = {
        "type": "object",
        combinator: [
            {"properties": {"a": STRING, "k": STRING}, "required": ["k", "a"]},
            {"properties": {"b": NUMBER, "k": STRING}, "required": ["b", "k"]},
        ],
    }
    found, notes = safe(schema)
    assert found["properties"] == {"a": STRING, "b": NUMBER, "k": STRING}
    assert found["required"] == ["k"]
    assert notes == [f"{combinator} at the root of the input schema was flattened"]


def test_alternatives_of_what_is_required():
    """The commonest form: either of two parameters."""
    schema = {
        "type": "object",
        "properties": {"id": STRING, "name": STRING, "x": STRING},
        "required": ["x"],
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    }
    found, _ = safe(schema)
    assert found["properties"].keys() == {"id", "name", "x"}
    assert found["required"] == ["x"]


def test_an_alternative_that_requires_nothing_makes_all_optional():
    """True and an empty object are alternatives too."""
    for lax in (True, {}):
        found, _ = safe({"type": "object", "anyOf": [{"properties": Q, "required": ["q"]}, lax]})
        assert "required" not in found


def test_alternatives_of_one_property_stay_alternatives():
    """What any alternative allows is allowed: a kind that is "a" or "b"."""
    schema = {
        "type": "object",
        "oneOf": [
            {"properties": {"kind": {"const": "a"}, "x": STRING}, "required": ["kind"]},
            {"properties": {"kind": {"const": "b"}, "x": NUMBER}, "required": ["kind"]},
        ],
    }
    found, _ = safe(schema)
    for value in ({"kind": "a", "x": "1"}, {"kind": "b", "x": 1}):
        assert accepts(schema, value)
        assert accepts(found, value)
    assert not accepts(found, {"kind": "c"})
    assert not accepts(found, {})


@pytest.mark.parametrize("combinator", ["anyOf", "oneOf", "allOf"])
def test_alternatives_may_be_references(combinator):
    """As model classes write a union."""
    schema = {
        combinator: [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
        "$defs": {
            "A": {"type": "object", "properties": {"a": STRING, "k": STRING}, "required": ["k"]},
            "B": {"type": "object", "properties": {"b": NUMBER, "k": STRING}, "required": ["k"]},
        },
    }
    found, _ = safe(schema)
    assert found["properties"].keys() == {"a", "b", "k"}
    assert found["required"] == ["k"]


def test_the_root_may_be_a_reference():
    """It is followed, for hosts look at the root only."""
    schema = {"$ref": "#/$defs/In", "$defs": {"In": {"type": "object", "properties": Q, "required": ["q"]}}}
    found, _ = safe(schema)
    assert found["properties"] == Q
    assert found["required"] == ["q"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        {"anyOf": [{"$ref": "#"}]},
        {"allOf": [{"$ref": "#/allOf/0"}]},
    ],
    ids=str,
)
def test_references_that_go_in_circles_end(schema):
    """No parameters come of them."""
    assert safe(schema)[0]["properties"] == {}


def test_combinators_within_alternatives_are_flattened_too():
    """Nothing they offer is lost."""
    schema = {
        "allOf": [
            {"anyOf": [{"properties": {"a": STRING}}, {"properties": {"b": NUMBER}}]},
            {"properties": Q},
        ]
    }
    assert safe(schema)[0]["properties"].keys() == {"a", "b", "q"}


def test_references_into_the_root_survive_flattening():
    """What a rewritten schema refers to is there."""
    schema = {
        "type": "object",
        "anyOf": [{"properties": {"a": STRING}}],
        "properties": {"b": {"$ref": "#/anyOf/0/properties/a"}},
    }
    found, notes = safe(schema)
    reference = found["properties"]["b"].get("$ref")
    if reference is not None:
        place = found
        for step in reference.split("/")[1:]:
            place = place[int(step)] if isinstance(place, list) else place[step]
    else:
        assert any("leads nowhere" in note for note in notes)


@pytest.mark.parametrize(
    "reference", ["#/$defs/Gone", "https://example.org/x.json", "other.json#/x", "#nothing", ""]
)
def test_dangling_references_are_removed(reference):
    """With a note; what stands beside them stays."""
    schema = {"type": "object", "properties": {"a": {"$ref": reference, "description": "d"}}}
    found, notes = safe(schema)
    assert found["properties"]["a"] == {"description": "d"}
    assert len(notes) == 1
    assert repr(reference) in notes[0]


def test_the_same_note_is_made_once():
    """However often it applies."""
    bad = {"$ref": "#/$defs/Gone"}
    assert len(safe({"type": "object", "properties": {"a": bad, "b": bad}})[1]) == 1


BROKEN = [
    {"properties": []},
    {"properties": {"a": None}},
    {"properties": {"a": "string"}},
    {"properties": {"a": {"properties": None, "type": "object"}}},
    {"properties": {"a": {"required": None}}},
    {"properties": {"a": {"type": "string", "required": True}}},
    {"properties": {"a": {"type": "str"}}},
    {"properties": {"a": {"type": None}}},
    {"properties": {"a": {"type": []}}},
    {"properties": {"a": {"enum": "x"}}},
    {"properties": {"a": {"anyOf": []}}},
    {"properties": {"a": {"anyOf": None}}},
    {"properties": {"a": {"items": [STRING, NUMBER]}}},
    {"properties": {"a": {"items": None}}},
    {"properties": {"a": {"description": None, "title": 3}}},
    {"properties": {"a": {"minimum": "3", "maxLength": None}}},
    {"properties": {"a": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}},
    {"properties": {"a": {"$ref": 3}}},
    {"properties": {"a": {"additionalProperties": None}}},
    {"properties": {"a": {"pattern": 3, "format": 3}}},
    {"properties": {"a": {"$defs": [], "definitions": 3, "not": 1, "if": 2}}},
    {"properties": {"a": {"default": float("nan")}}},
    {"required": "q"},
    {"required": [1, "q", "q"]},
    {"required": None},
    {"anyOf": 5},
    {"anyOf": True},
    {"anyOf": {}},
    {"oneOf": None},
    {"allOf": [None, 3]},
    {"$defs": None},
    {"description": None},
    {"additionalProperties": "no"},
    {"$schema": 3, "$id": 4},
    {"not": {"required": ["q"]}},
    {"enum": [{}]},
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_broken_keywords_do_not_reach_the_host(broken):
    """One wrong value anywhere makes a host refuse the whole request, so it goes; sound neighbours stay."""
    schema = {"type": "object", **broken}
    if isinstance(broken.get("properties"), dict):
        schema["properties"] = {**broken["properties"], **Q}
        assert safe(schema)[0]["properties"]["q"] == STRING
        assert "a" in safe(schema)[0]["properties"]
    else:
        safe(schema)


@pytest.mark.parametrize("key", ["properties", "items", "anyOf", "allOf"])
@pytest.mark.parametrize("depth", [30, 63, 64, 65, 66, 67, 400])
def test_deep_schemas_are_cut_to_sound_ones(key, depth):
    """Wherever the cut falls; with a note where there was one."""
    schema: dict = {"type": "string", "description": "d", "enum": ["x"]}
    for _ in range(depth):
        inner = (
            {"properties": {"p": schema}, "required": ["p"]}
            if key == "properties"
            else {key: schema if key == "items" else [schema]}
        )
        schema = {"description": "d", **inner}
    _, notes = safe({"type": "object", "properties": {"p": schema}})
    assert ("nesting below 64 levels was cut" in notes) == (depth >= 64)


def _nested(depth: int) -> dict:
    schema: dict = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"p": schema}}
    return schema


@pytest.mark.parametrize("combinator", ["anyOf", "allOf"])
def test_alternatives_of_one_deep_property_are_compared(combinator):
    """Equal or not, 400 levels down."""
    branches = [{"properties": {"p": _nested(depth)}} for depth in (400, 400, 399)]
    assert list(safe({"type": "object", combinator: branches})[0]["properties"]) == ["p"]


def test_references_that_double_take_no_time():
    """Each of thirty levels refers to the next twice: a billion ways down."""
    steps = {f"S{i}": {"allOf": [{"$ref": f"#/$defs/S{i + 1}"}] * 2} for i in range(30)}
    schema = {
        "anyOf": [{"$ref": "#/$defs/S0"}] * 2,
        "$defs": {**steps, "S30": {"properties": Q, "required": ["q"]}},
    }
    started = time.perf_counter()
    found, _ = safe(schema)
    assert time.perf_counter() - started < 2
    assert (found["properties"], found["required"]) == (Q, ["q"])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["object", "string", "q", "#/$defs/q", "#"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "required",
                    "anyOf",
                    "allOf",
                    "oneOf",
                    "$ref",
                    "$defs",
                    "items",
                    "enum",
                    "q",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=200)
@given(JSON)
def test_anything_becomes_sound(value):
    """Whatever stands in the place of a schema."""
    safe(value)


@settings(deadline=None)
@given(JSON)
def test_once_is_enough(value):
    """A rewritten schema needs no rewriting."""
    found, _ = safe(value)
    assert safe(found)[0] == found
