-- What was called, by whom, and what came of it. One JSON text a record is the truth; the columns to search by
-- are computed from it, so they cannot say anything else.
CREATE TABLE audit (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us    INTEGER NOT NULL,
    entry    TEXT    NOT NULL CHECK (json_valid(entry)),
    hash     TEXT    NOT NULL CHECK (length(hash) = 64),
    user     TEXT GENERATED ALWAYS AS (json_extract(entry, '$.user')) VIRTUAL,
    actor    TEXT GENERATED ALWAYS AS (json_extract(entry, '$.actor')) VIRTUAL,
    project  TEXT GENERATED ALWAYS AS (json_extract(entry, '$.project')) VIRTUAL,
    run      TEXT GENERATED ALWAYS AS (json_extract(entry, '$.run')) VIRTUAL,
    tool     TEXT GENERATED ALWAYS AS (json_extract(entry, '$.tool')) VIRTUAL,
    source   TEXT GENERATED ALWAYS AS (json_extract(entry, '$.source')) VIRTUAL,
    outcome  TEXT GENERATED ALWAYS AS (json_extract(entry, '$.outcome')) VIRTUAL,
    decision TEXT GENERATED ALWAYS AS (json_extract(entry, '$.decision')) VIRTUAL
) STRICT;

CREATE INDEX audit_by_run  ON audit (run, id);
CREATE INDEX audit_by_tool ON audit (tool, id);
CREATE INDEX audit_by_time ON audit (at_us);

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- INSERT OR REPLACE deletes without asking the trigger above, and an id that is left out would be chosen by SQLite.
CREATE TRIGGER audit_only_at_the_end BEFORE INSERT ON audit
WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM audit)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
