-- The console's own webhook URL, and messages found by their event's id.

-- True for the one subscription of an organization that is the console's own record.
ALTER TABLE subscriptions ADD COLUMN from_console boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX subscriptions_of_console ON subscriptions (org) WHERE from_console;

-- A message about an account is found by its number among the account's; the few others by this.
CREATE INDEX messages_about_no_account ON messages (org, event_id) WHERE account IS NULL;
