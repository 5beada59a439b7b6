"""Links a judged content to its first copy, whatever the order in which copies are judged."""

from issuetracker_dagster.ports.stores import Contents
from issuetracker_dagster.stages.validate.duplicates import Fingerprint, fingerprint, normal_text, similarity, text_hash


def link_copies(contents: Contents, content_id: int, body: str, near_min: float) -> str:
    """Link this content to the first copy before it, and copies after it to this one; returns a note, empty when alone.

    "First" is the lowest content id. The verdict must have been recorded before: of two workers that judge two copies
    at once, the one whose signature comes second sees the other, and finds a verdict there to put the link on.
    """
    mark = fingerprint(body)
    first = contents.first_with_hash(mark.text_hash, content_id) or 0
    contents.save_signature(content_id, mark.bands, mark.signature)
    near = 0
    for other_id, signature in contents.near_candidates(content_id, mark.bands):
        alike = similarity(mark.signature, signature)
        if alike < near_min:
            continue
        if other_id > content_id:
            _claim(contents, other_id, content_id, mark, alike)
        elif near == 0 or other_id < near:
            near = other_id
    if first:
        contents.link_copy(content_id, duplicate_of=first)
        return f"duplicate of {first}"
    if near:
        contents.link_copy(content_id, near_duplicate_of=near)
        return f"near duplicate of {near}"
    return ""


def _claim(contents: Contents, later_id: int, first_id: int, mark: Fingerprint, alike: float) -> None:
    # Only equal signatures can belong to equal texts, so the other body is hardly ever read.
    later = contents.get(later_id) if alike == 1.0 else None
    if later is not None and text_hash(normal_text(later.body)) == mark.text_hash:
        contents.link_copy(later_id, duplicate_of=first_id)
    else:
        contents.link_copy(later_id, near_duplicate_of=first_id)
