"""The tree of RFC 6962 over the hashes of a chain: roots, proofs, and ranges that grow and join.

Leaves are the 32-byte entry hashes; leaf `i` belongs to seq `i + 1`. A proof holds hashes of subtrees
and nothing of what their entries say.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

LEAF = b"\x00"
NODE = b"\x01"
EMPTY_ROOT = sha256(b"").digest()
HASH_BYTES = 32


def leaf_hash(entry: bytes) -> bytes:
    """Hash of a leaf; its prefix keeps it from being mistaken for an inner node."""
    return sha256(LEAF + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of the node above `left` and `right`."""
    return sha256(NODE + left + right).digest()


@dataclass(frozen=True, slots=True)
class _Subtree:
    """Root of the perfect tree over leaves `[index << level, (index + 1) << level)`."""

    level: int
    index: int
    hash: bytes

    def is_left_sibling_of(self, other: "_Subtree") -> bool:
        return self.level == other.level and self.index + 1 == other.index and not self.index & 1


class CompactRange:
    """The fewest subtree roots that cover leaves `[start, end)`: at most two per level.

    A range that starts at 0 knows its root. Ranges of neighbouring stretches join, so a long log can be
    hashed in pieces, and a checkpoint that keeps its range need never read the log again.
    """

    __slots__ = ("end", "start", "subtrees")

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.end = start
        self.subtrees: list[_Subtree] = []

    @classmethod
    def restore(cls, end: int, stored: bytes) -> "CompactRange":
        """The range `[0, end)` whose `stored` form was kept. Raises ValueError if the sizes disagree."""
        if len(stored) != end.bit_count() * HASH_BYTES:
            raise ValueError("not the stored form of a range of this size")
        whole = cls()
        levels = (level for level in reversed(range(end.bit_length())) if end >> level & 1)
        for place, level in enumerate(levels):
            chunk = stored[place * HASH_BYTES : (place + 1) * HASH_BYTES]
            whole._push(_Subtree(level, whole.end >> level, chunk))
        return whole

    @property
    def stored(self) -> bytes:
        """The subtree hashes, left to right; with `end` they are all there is to keep."""
        return b"".join(subtree.hash for subtree in self.subtrees)

    def extend(self, entries: Iterable[bytes]) -> None:
        """Add the next leaves, in order."""
        hashes = [sha256(LEAF + entry).digest() for entry in entries]
        for subtree in _cover(self.end, hashes):
            self._push(subtree)

    def join(self, right: "CompactRange") -> None:
        """Add the neighbouring range `right`. Raises ValueError if it does not start where this ends."""
        if right.start != self.end:
            raise ValueError("the ranges do not touch")
        for subtree in right.subtrees:
            self._push(subtree)

    def copy(self) -> "CompactRange":
        """A range that grows on its own from here."""
        twin = CompactRange(self.start)
        twin.end, twin.subtrees = self.end, list(self.subtrees)
        return twin

    def root(self) -> bytes:
        """Root of the tree over all leaves up to `end`. Raises ValueError unless `start` is 0."""
        if self.start:
            raise ValueError("only a range from the first leaf has a root")
        if not self.subtrees:
            return EMPTY_ROOT
        *rest, last = self.subtrees
        root = last.hash
        for subtree in reversed(rest):
            root = node_hash(subtree.hash, root)
        return root

    def _push(self, subtree: _Subtree) -> None:
        self.end = (subtree.index + 1) << subtree.level
        while self.subtrees and self.subtrees[-1].is_left_sibling_of(subtree):
            left = self.subtrees.pop()
            subtree = _Subtree(left.level + 1, left.index >> 1, node_hash(left.hash, subtree.hash))
        self.subtrees.append(subtree)


def _cover(index: int, hashes: list[bytes]) -> list[_Subtree]:
    """Subtrees over `hashes`, which lie side by side from `index` on, paired up level by level."""
    left: list[_Subtree] = []
    right: list[_Subtree] = []
    level = 0
    while hashes:
        if index & 1:
            left.append(_Subtree(level, index, hashes[0]))
            hashes, index = hashes[1:], index + 1
        if len(hashes) & 1:
            right.append(_Subtree(level, index + len(hashes) - 1, hashes.pop()))
        pairs = iter(hashes)
        hashes = [sha256(NODE + a + b).digest() for a, b in zip(pairs, pairs, strict=True)]
        index, level = index >> 1, level + 1
    return [*left, *reversed(right)]


def root_of(entries: Iterable[bytes]) -> bytes:
    """Root of the tree over all of `entries`."""
    tree = CompactRange()
    tree.extend(entries)
    return tree.root()


def inclusion_proof(entries: Sequence[bytes], index: int) -> list[bytes]:
    """What, with the entry at `index`, is enough to compute the root of the tree over `entries`."""
    if not 0 <= index < len(entries):
        raise ValueError("no such leaf")
    proof: list[bytes] = []
    low, high = 0, len(entries)
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            proof.append(root_of(entries[middle:high]))
            high = middle
        else:
            proof.append(root_of(entries[low:middle]))
            low = middle
    return proof[::-1]


def includes(root: bytes, size: int, index: int, entry: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that `entry` is leaf `index` of the tree of `size` leaves with this `root`."""
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf_hash(entry)
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def consistency_proof(entries: Sequence[bytes], old_size: int) -> list[bytes]:
    """What shows that the tree over the first `old_size` entries grew into the tree over all."""
    if not 0 < old_size <= len(entries):
        raise ValueError("the older tree must hold at least one leaf and no more than the newer")
    proof: list[bytes] = []
    low, high, is_whole = 0, len(entries), True
    while old_size != high:
        middle = low + _split(high - low)
        if old_size <= middle:
            proof.append(root_of(entries[middle:high]))
            high = middle
        else:
            proof.append(root_of(entries[low:middle]))
            low, is_whole = middle, False
    if not is_whole:
        proof.append(root_of(entries[low:high]))
    return proof[::-1]


def extends(old: tuple[int, bytes], new: tuple[int, bytes], proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the tree `new` (size, root) begins with all leaves of the tree `old`."""
    (old_size, old_root), (new_size, new_root) = old, new
    if not 0 < old_size <= new_size:
        return False
    if old_size == new_size:
        return not proof and old_root == new_root
    path = [old_root, *proof] if old_size.bit_count() == 1 else list(proof)
    if not path:
        return False
    place, last = old_size - 1, new_size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_found = new_found = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old_found, new_found = node_hash(sibling, old_found), node_hash(sibling, new_found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new_found = node_hash(new_found, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and old_found == old_root and new_found == new_root


def _split(size: int) -> int:
    """The largest power of two below `size`, which must be 2 or more."""
    return 1 << (size - 1).bit_length() - 1
