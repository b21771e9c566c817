-- What the agents of a workspace share, as it is now.
CREATE TABLE worlds (
    no        INTEGER PRIMARY KEY,
    workspace TEXT    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    -- JSON.
    value     TEXT    NOT NULL,
    -- What it must fit, if anything: JSON.
    schema    TEXT
) STRICT;

-- How it came to be so, the newest versions. What a record says is known above.
CREATE TABLE world_versions (
    no      INTEGER PRIMARY KEY,
    world   INTEGER NOT NULL,
    version INTEGER NOT NULL,
    record  TEXT    NOT NULL,
    UNIQUE (world, version)
) STRICT;

-- What was answered to whom: a request that comes again changes nothing more.
CREATE TABLE world_requests (
    no      INTEGER PRIMARY KEY,
    world   INTEGER NOT NULL,
    request TEXT    NOT NULL,
    answer  TEXT    NOT NULL,
    UNIQUE (world, request)
) STRICT;
