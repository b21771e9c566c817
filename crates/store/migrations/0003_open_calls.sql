-- Calls that were written down before they ran and have not ended yet. A row goes in the transaction that puts its
-- record into the audit log: by whoever made the call or, when they are gone, by the next one to open the database.
CREATE TABLE open_calls (
    id    TEXT NOT NULL PRIMARY KEY,
    -- Which process makes the call, as in requests.
    owner TEXT NOT NULL,
    entry TEXT NOT NULL CHECK (json_valid(entry))
) STRICT;
