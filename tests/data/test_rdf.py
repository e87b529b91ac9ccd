"""N-Triples and Turtle: names, labels, blank nodes, literals."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from whereof.data.read import read_dataset
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
PREFIXES = """\
@prefix : <http://x/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
FACTS = "<http://x/a> <http://x/r> <http://x/b> .\n<http://x/b> <http://x/r> <http://x/a> .\n"


@pytest.mark.parametrize("name", ["facts.nt", "facts.nt.gz", "facts.ttl", "facts.ttl.gz"])
def test_names_are_iris(write: Write, name: str) -> None:
    path = write(name, gzip.compress(FACTS.encode()) if name.endswith("gz") else FACTS)
    dataset = read_dataset(path)
    assert dataset.name == "facts"
    assert dataset.entities.names == ("http://x/a", "http://x/b")
    assert dataset.fact_names(dataset.train[0]) == ("http://x/a", "http://x/r", "http://x/b")


def test_labels_are_english_or_without_a_language_else_the_first(write: Write) -> None:
    path = write(
        "facts.ttl",
        PREFIXES + ':a :r :b . :b :r :c . :r rdfs:label "respects" . :z rdfs:label "Zoe" .\n'
        ':a rdfs:label "Anna"@de , "Ann"@en-GB , "Annie" .\n'
        ':b skos:prefLabel "Bernd"@de , "Bernard"@fr . :c rdfs:label "C"; skos:prefLabel "D" .\n',
    )
    dataset = read_dataset(path)
    assert [dataset.entities.label(i) for i in range(3)] == ["Ann", "Bernd", "C"]
    assert dataset.relations.label(0) == "respects"
    assert dataset.notes == ()
    by_hand = write("labels.tsv", "http://x/a\tAda\n")
    dataset = read_dataset(path, entity_labels=by_hand)
    assert [dataset.entities.label(i) for i in range(3)] == ["Ada", "Bernd", "C"]


def test_literals_are_left_out_and_counted(write: Write) -> None:
    path = write("facts.ttl", PREFIXES + ":a :r :b ; :age 3 , 4 .")
    dataset = read_dataset(path)
    assert (dataset.n_facts, dataset.n_relations) == (1, 1)
    assert dataset.notes == ("train: 2 triples left out: the object is a literal",)
    one = read_dataset(write("one.ttl", PREFIXES + ":a :r :b ; :age 3 ."))
    assert one.notes == ("train: 1 triple left out: the object is a literal",)


def test_blank_nodes_are_numbered_and_belong_to_their_file(write: Write) -> None:
    write("mine/train.ttl", PREFIXES + ":a :r [ :r :b ] , _:x . _:x :r :a .")
    folder = write("mine/test.ttl", PREFIXES + ":a :r _:x . :b :r :a .").parent
    dataset = read_dataset(folder)
    assert dataset.entities.names == ("_:1", "_:2", "http://x/a", "http://x/b")
    assert [dataset.fact_names(fact)[0] for fact in dataset.test] == ["http://x/b"]
    assert dataset.notes == ("test: 1 of 2 facts dropped: they have names that are not in train",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("facts.nt", FACTS + "<http://x/a> <http://x/r> .\n", r"facts.nt:3: .*; correct the line"),
        ("facts.ttl", "\n<a b> <c> <d> .", r"facts.ttl:2: Invalid IRI code point ' '; correct"),
        ("facts.nt", b"<http://x/\xff> <http://x/r> <http://x/b> .", "facts.nt:1: Invalid UTF-8"),
        ("facts.nt", "", "facts.nt: no facts; expected triples whose object is not a literal"),
        ("facts.nt", "<http://x/" + "a" * 2**25, r"facts.nt: .*more than 16 MiB"),
        ("facts.nt.gz", gzip.compress(FACTS.encode())[:-9], "truncated or damaged gzip data"),
    ],
)
def test_bad_file(write: Write, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(WhereofError, match=message) as caught:
        read_dataset(write(name, content))
    assert "\n" not in str(caught.value)


def test_there_are_no_columns_to_choose_from(write: Write) -> None:
    with pytest.raises(WhereofError, match=r"facts.nt: RDF has no columns .* leave out columns"):
        read_dataset(write("facts.nt", FACTS), columns="1,2,3")


@pytest.mark.parametrize("n_before", [0, 3])
@pytest.mark.parametrize("n_after", [0, 2])
def test_a_missing_dot_is_named_with_its_own_line(
    write: Write, n_before: int, n_after: int
) -> None:
    whole = "<http://a> <http://b> <http://c> .\n"
    path = write("f.nt", whole * n_before + "<http://a> <http://b> <http://d>\n" + whole * n_after)
    with pytest.raises(WhereofError, match=rf"f\.nt:{n_before + 1}: A triple must be followed"):
        read_dataset(path)


@pytest.mark.parametrize("name", ["facts.nt", "facts.ttl"])
def test_a_message_repeats_no_code_of_the_file(write: Write, name: str) -> None:
    with pytest.raises(WhereofError) as caught:
        read_dataset(write(name, FACTS + "<http://x/\x1b[2J\x07> <http://x/\x1b]0;r> \x9b .\n"))
    assert str(caught.value).isprintable(), str(caught.value)
