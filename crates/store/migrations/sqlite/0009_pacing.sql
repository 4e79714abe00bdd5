-- How fast a URL is sent to, what was finished with out of order, and trying a paused URL again.

-- Settings: the most messages a second and at once; nothing means no such limit.
ALTER TABLE subscriptions ADD COLUMN max_per_second INTEGER;
ALTER TABLE subscriptions ADD COLUMN max_in_flight INTEGER;

-- Beyond the cursor, everything up to `reached` is finished with, but for the positions in `holes`, a JSON list.
ALTER TABLE subscriptions ADD COLUMN reached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subscriptions ADD COLUMN holes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE ranges ADD COLUMN reached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ranges ADD COLUMN holes TEXT NOT NULL DEFAULT '[]';

-- When one waiting message of a paused URL is tried. One that was paused by errors before is tried 5 minutes after that.
ALTER TABLE subscriptions ADD COLUMN probe_at INTEGER;
UPDATE subscriptions SET probe_at = paused_at + 300000000 WHERE pause_reason = 'CONSECUTIVE_ERRORS';
