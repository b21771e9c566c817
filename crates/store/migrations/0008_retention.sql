-- Runs of which only what happened is kept: the steps of such a run have their events, and nothing of what it was fed.
ALTER TABLE run_states ADD COLUMN is_slim INTEGER NOT NULL DEFAULT 0;

-- By their end: the oldest go first.
CREATE INDEX run_states_ended ON run_states (terminal_ns, run) WHERE terminal_ns IS NOT NULL;

-- Who else holds a content.
CREATE INDEX held_by_blob           ON held (blob);
CREATE INDEX state_contents_by_blob ON state_contents (blob);
