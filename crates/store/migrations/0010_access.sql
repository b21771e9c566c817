-- Who may come in over the network. What is kept of a secret is its hash.
CREATE TABLE access_tokens (
    no         INTEGER PRIMARY KEY,
    -- Not secret: the first part of the token, under which it is listed and revoked.
    id         TEXT    NOT NULL UNIQUE,
    -- SHA-256 of the secret part.
    hash       BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    user       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER,
    used_us    INTEGER
) STRICT;

-- Each becomes a token once.
CREATE TABLE pairing_codes (
    no         INTEGER PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    user       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT;

-- People who sign in with a password, where there are several.
CREATE TABLE people (
    no         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    -- Argon2, in the PHC form.
    password   TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;
