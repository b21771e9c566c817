-- What runs leave behind for later runs of their workspace. What a record says is known above.
CREATE TABLE states (
    no        INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    id        TEXT NOT NULL,
    record    TEXT NOT NULL,
    UNIQUE (workspace, id)
) STRICT;

-- Which contents a state names: they stay as long as it does.
CREATE TABLE state_contents (
    no    INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    blob  BLOB    NOT NULL,
    UNIQUE (state, blob)
) STRICT;
