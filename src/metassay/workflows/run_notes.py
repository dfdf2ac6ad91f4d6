"""Read and write the notes of users on a run, which the dashboard stores as `notes.txt` in the run folder."""

from __future__ import annotations

from metassay.errors import InputError, InputLocation
from metassay.store.parts import hash_bytes
from metassay.store.remote import delete_file
from metassay.store.run_folder import RunFolder

NOTES_FILE = "notes.txt"
# Characters.
MAXIMUM_LENGTH = 20_000


def read_notes(run_folder: RunFolder) -> str:
    """Read the notes that users wrote on a run. Returns an empty text if there are none."""
    file = run_folder.find_file(NOTES_FILE)
    if file is None:
        return ""
    most_bytes = 4 * MAXIMUM_LENGTH  # a character takes at most four bytes in UTF-8
    return file.read_bytes()[:most_bytes].decode(errors="replace")


def hash_notes(notes: str) -> str:
    """Return a hash of the notes on a run. It shows whether somebody has changed them."""
    return hash_bytes(notes.encode(errors="replace"))


def write_notes(run_folder: RunFolder, notes: str, *, seen_version: str) -> None:
    """Write the notes on a run. Raises an error if somebody else has changed them since the user
    read them.
    """
    location = InputLocation(file=str(run_folder.path / NOTES_FILE))
    if len(notes) > MAXIMUM_LENGTH:
        raise InputError(f"notes of more than {MAXIMUM_LENGTH:,} characters are not kept.", location=location)
    if hash_notes(read_notes(run_folder)) != seen_version:
        raise InputError(
            "somebody else wrote notes in the meantime.", location=location, remedy="Read those first."
        )
    try:
        if notes:
            run_folder.write_text(NOTES_FILE, notes)
        else:
            delete_file(run_folder.path / NOTES_FILE)
    except OSError as error:
        raise InputError(f"notes cannot be written ({error.strerror}).", location=location) from None
