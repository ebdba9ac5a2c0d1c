"""The tree of RFC 6962: its published roots, proofs for every leaf, ranges that join."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.audit.merkle import (
    CompactRange,
    consistency_proof,
    extends,
    includes,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_of,
)

# Inputs and roots of the reference implementation of Certificate Transparency.
LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]

sizes = st.integers(1, 70)


def entries(count: int) -> list[bytes]:
    return [sha256(str(place).encode()).digest() for place in range(count)]


@pytest.mark.parametrize("size", range(9))
def test_the_published_roots(size: int) -> None:
    assert root_of(LEAVES[:size]).hex() == ROOTS[size]


@given(st.lists(st.integers(0, 40), max_size=6))
def test_growing_in_pieces_gives_the_root_of_the_whole(pieces: list[int]) -> None:
    whole = entries(sum(pieces))
    tree = CompactRange()
    for piece in pieces:
        tree.extend(whole[tree.end : tree.end + piece])
    assert (tree.end, tree.root()) == (len(whole), root_of(whole))


@given(st.integers(0, 90), st.integers(0, 90), st.integers(0, 90))
def test_ranges_hashed_apart_join_into_the_whole(first: int, second: int, third: int) -> None:
    whole = entries(first + second + third)
    ranges = []
    for begin, count in ((0, first), (first, second), (first + second, third)):
        part = CompactRange(begin)
        part.extend(whole[begin : begin + count])
        ranges.append(part)
    ranges[1].join(ranges[2])
    ranges[0].join(ranges[1])
    assert (ranges[0].end, ranges[0].root()) == (len(whole), root_of(whole))


@given(st.integers(0, 200), st.integers(0, 30))
def test_a_stored_range_goes_on_where_it_stopped(kept: int, more: int) -> None:
    whole = entries(kept + more)
    tree = CompactRange()
    tree.extend(whole[:kept])
    restored = CompactRange.restore(kept, tree.stored)
    restored.extend(whole[kept:])
    assert restored.root() == root_of(whole)
    assert len(tree.stored) == 32 * kept.bit_count()


def test_a_copy_grows_on_its_own() -> None:
    tree = CompactRange()
    tree.extend(entries(3))
    twin = tree.copy()
    twin.extend(entries(5)[3:])
    assert (tree.root(), twin.root()) == (root_of(entries(3)), root_of(entries(5)))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="stored form"):
        CompactRange.restore(3, bytes(32))
    with pytest.raises(ValueError, match="do not touch"):
        CompactRange().join(CompactRange(4))
    with pytest.raises(ValueError, match="from the first leaf"):
        CompactRange(4).root()


@given(sizes, st.data())
def test_a_leaf_is_proven_included_and_nothing_else_is(size: int, data: st.DataObject) -> None:
    whole = entries(size)
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(whole, index)
    root = root_of(whole)
    assert includes(root, size, index, whole[index], proof)
    assert not includes(root, size, index, b"another", proof)
    assert not includes(root, size, (index + 1) % (size + 1), whole[index], proof)
    assert not includes(root, size, index, whole[index], [*proof, bytes(32)])
    assert not proof or not includes(root, size, index, whole[index], proof[:-1])


@given(sizes, st.data())
def test_a_tree_is_proven_to_have_grown_from_its_beginning(size: int, data: st.DataObject) -> None:
    whole = entries(size)
    old_size = data.draw(st.integers(1, size))
    old, new = (old_size, root_of(whole[:old_size])), (size, root_of(whole))
    proof = consistency_proof(whole, old_size)
    assert extends(old, new, proof)
    assert not extends((old_size, bytes(32)), new, proof)
    assert not extends(old, (size, bytes(32)), proof)
    assert not extends(old, new, [*proof, bytes(32)])
    assert not proof or not extends(old, new, proof[:-1])


def test_proofs_ask_for_leaves_that_exist() -> None:
    with pytest.raises(ValueError, match="no such leaf"):
        inclusion_proof(entries(3), 3)
    with pytest.raises(ValueError, match="at least one leaf"):
        consistency_proof(entries(3), 0)
    with pytest.raises(ValueError, match="no more than the newer"):
        consistency_proof(entries(3), 4)


def test_a_proof_of_one_entry_holds_hashes_only() -> None:
    secret = [b"salary of A", b"salary of B", b"salary of C"]
    proof = inclusion_proof(secret, 1)
    assert proof == [leaf_hash(b"salary of A"), leaf_hash(b"salary of C")]
    assert root_of(secret) == node_hash(node_hash(proof[0], leaf_hash(b"salary of B")), proof[1])
