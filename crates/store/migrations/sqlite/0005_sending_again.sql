-- The console's own webhook URL, and messages found by their event's id.

-- 1 for the one subscription of an organization that is the console's own record.
ALTER TABLE subscriptions ADD COLUMN from_console INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX subscriptions_of_console ON subscriptions (org) WHERE from_console = 1;

-- A message about an account is found by its number among the account's; the few others by this.
CREATE INDEX messages_about_no_account ON messages (event_id) WHERE account IS NULL;
