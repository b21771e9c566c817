-- Runs that a repair has cut, with the number of the last event that was left. It holds for as long as that is their last:
-- whoever adds to such a run has decided to go on with it.
CREATE TABLE cut_runs (
    run      INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL
) STRICT;

-- Contents of which a repair has said that they are gone.
CREATE TABLE lost_contents (
    no INTEGER PRIMARY KEY,
    id BLOB    NOT NULL UNIQUE
) STRICT;
