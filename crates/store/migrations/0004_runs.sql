-- What is known of a run. All of it can be made again from the journal, which is the truth.
CREATE TABLE runs (
    -- Never given twice, so that what was left of a deleted run belongs to nobody.
    no         INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT    NOT NULL UNIQUE,
    chat       TEXT    NOT NULL,
    workspace  TEXT    NOT NULL,
    created_ns INTEGER NOT NULL,
    -- As it was when it began.
    record     TEXT    NOT NULL
) STRICT;

CREATE INDEX runs_by_time      ON runs (created_ns, id);
CREATE INDEX runs_by_chat      ON runs (chat, created_ns, id);
CREATE INDEX runs_by_workspace ON runs (workspace, created_ns, id);

-- What changes with every step, apart and narrow: the steps of many runs touch few pages.
CREATE TABLE run_states (
    run          INTEGER PRIMARY KEY,
    last_seq     INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    updated_ns   INTEGER NOT NULL,
    terminal_ns  INTEGER,
    commit_count INTEGER NOT NULL,
    committed    TEXT
) STRICT;

CREATE INDEX run_states_open ON run_states (run) WHERE terminal_ns IS NULL;

-- One row for each step, in the order in which they were written.
CREATE TABLE journal (
    id         INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL,
    -- The number of the run's last event before this step, and how many this step brought.
    after_seq  INTEGER NOT NULL,
    events     INTEGER NOT NULL,
    -- Over all but the input, and over the input.
    events_sum INTEGER NOT NULL,
    input_sum  INTEGER NOT NULL,
    -- What changed in what is known of the run; the first step holds the whole of it.
    changes    TEXT,
    -- One event in a line.
    lines      TEXT NOT NULL,
    input      TEXT NOT NULL
) STRICT;

CREATE INDEX journal_by_run ON journal (run, after_seq);

-- The newest of each run.
CREATE TABLE snapshots (
    run       INTEGER PRIMARY KEY,
    after_seq INTEGER NOT NULL,
    entry     INTEGER NOT NULL,
    sum       INTEGER NOT NULL,
    state     TEXT    NOT NULL
) STRICT;

-- Contents by their sha256. Large ones lie in files beside the database.
CREATE TABLE blobs (
    no      INTEGER PRIMARY KEY,
    id      BLOB    NOT NULL UNIQUE,
    bytes   INTEGER NOT NULL,
    is_tree INTEGER NOT NULL,
    -- Belongs to no run and stays.
    is_kept INTEGER NOT NULL,
    content BLOB
) STRICT;

-- Which run brought which content.
CREATE TABLE held (
    no   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL,
    blob BLOB    NOT NULL,
    UNIQUE (run, blob)
) STRICT;

-- Runs that are gone for everybody, but whose rows are still being removed.
CREATE TABLE doomed_runs (
    run INTEGER PRIMARY KEY
) STRICT;

-- Background tasks. What a record says is known above.
CREATE TABLE tasks (
    no       INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE,
    run      TEXT    NOT NULL,
    -- Which process is at it, as in requests.
    owner    TEXT    NOT NULL,
    is_final INTEGER NOT NULL,
    record   TEXT    NOT NULL
) STRICT;

CREATE INDEX tasks_by_run ON tasks (run, no);
CREATE INDEX tasks_open   ON tasks (no) WHERE is_final = 0;

-- Questions to a person, and what they said.
CREATE TABLE approvals (
    no          INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    run         TEXT    NOT NULL,
    call        TEXT    NOT NULL,
    question    TEXT    NOT NULL,
    asked_ns    INTEGER NOT NULL,
    answer      TEXT,
    answered_ns INTEGER
) STRICT;

CREATE INDEX approvals_by_run  ON approvals (run, no);
CREATE INDEX approvals_pending ON approvals (no) WHERE answered_ns IS NULL;

-- What other processes want of a run that one process drives.
CREATE TABLE control (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    run     TEXT    NOT NULL,
    message TEXT    NOT NULL,
    sent_ns INTEGER NOT NULL
) STRICT;
