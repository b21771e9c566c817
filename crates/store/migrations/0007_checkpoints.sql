-- The files of a run at its checkpoints, found without going through its journal. The journal is the truth: what is missing
-- here is found there.
CREATE TABLE checkpoints (
    -- Never given twice: what was made of one that is gone must not be taken for made of another.
    no    INTEGER PRIMARY KEY AUTOINCREMENT,
    run   INTEGER NOT NULL,
    id    TEXT    NOT NULL,
    -- Of the event that tells of it.
    seq   INTEGER NOT NULL,
    -- The one that it is told as a difference to, of the same run; none of one that is told whole.
    base  INTEGER,
    -- How many have to be gone through to one that is whole.
    depth INTEGER NOT NULL,
    -- Over all of it but the numbers of rows that follow from the others.
    sum   INTEGER NOT NULL,
    -- Files by their path; null where one is gone.
    tree  TEXT    NOT NULL,
    UNIQUE (run, id)
) STRICT;
