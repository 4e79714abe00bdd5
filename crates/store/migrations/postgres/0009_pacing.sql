-- How fast a URL is sent to, what was finished with out of order, trying a paused URL again, and who sends.

-- Settings: the most messages a second and at once; nothing means no such limit.
-- Beyond the cursor, everything up to `reached` is finished with, but for the positions in `holes`.
-- `probe_at`: when one waiting message of a paused URL is tried.
ALTER TABLE subscriptions
    ADD COLUMN max_per_second integer,
    ADD COLUMN max_in_flight integer,
    ADD COLUMN reached bigint NOT NULL DEFAULT 0,
    ADD COLUMN holes bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN probe_at bigint;
ALTER TABLE ranges
    ADD COLUMN reached bigint NOT NULL DEFAULT 0,
    ADD COLUMN holes bigint[] NOT NULL DEFAULT '{}';

-- One that was paused by errors before is tried 5 minutes after that.
UPDATE subscriptions SET probe_at = paused_at + 300000000 WHERE paused_reason = 'CONSECUTIVE_ERRORS';

-- Nodes that send, each until when it counts as alive: the subscriptions are shared out among them.
CREATE TABLE sending_nodes (
    token text COLLATE "C" PRIMARY KEY,
    until bigint NOT NULL
);
