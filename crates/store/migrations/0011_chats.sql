-- Chats that the house keeps itself; those of a tavern are kept by the tavern.
CREATE TABLE chats (
    no         INTEGER PRIMARY KEY,
    -- Stays, whatever the chat is called.
    id         TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL,
    -- The character it is with; empty where there is none.
    owner      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- JSON.
    metadata   TEXT    NOT NULL,
    messages   INTEGER NOT NULL,
    -- Counts changes of its messages, its metadata and its name.
    version    INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    UNIQUE (kind, owner, name)
) STRICT;

CREATE INDEX chats_by_update ON chats (updated_us, no);

CREATE TABLE chat_messages (
    no      INTEGER PRIMARY KEY,
    chat    INTEGER NOT NULL,
    -- From 0, without gaps.
    place   INTEGER NOT NULL,
    -- JSON.
    message TEXT    NOT NULL,
    UNIQUE (chat, place)
) STRICT;

-- Small values that extensions keep beside a chat.
CREATE TABLE chat_values (
    no        INTEGER PRIMARY KEY,
    chat      INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    -- JSON.
    value     TEXT    NOT NULL,
    UNIQUE (chat, namespace, key)
) STRICT;
