-- Questions that a person answered with "always".
CREATE TABLE grants (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    user   TEXT    NOT NULL,
    actor  TEXT    NOT NULL,
    tool   TEXT    NOT NULL,
    source TEXT    NOT NULL,
    rule   TEXT    NOT NULL,
    at_us  INTEGER NOT NULL,
    note   TEXT,
    UNIQUE (user, actor, tool, source, rule)
) STRICT;

-- Blocks with a request_id: who runs one, and what came of it.
CREATE TABLE requests (
    scope        TEXT    NOT NULL,
    request_id   TEXT    NOT NULL,
    content_hash TEXT    NOT NULL,
    token        TEXT    NOT NULL,
    -- Which process runs it; empty: nobody any more. Meaningless once there are observations.
    owner        TEXT    NOT NULL,
    claimed_us   INTEGER NOT NULL,
    observations TEXT,
    PRIMARY KEY (scope, request_id)
) STRICT;

CREATE INDEX requests_by_age ON requests (claimed_us);
CREATE UNIQUE INDEX requests_by_token ON requests (token);
