-- Who gets messages, and what became of them.

ALTER TABLE organizations ADD COLUMN previous_signing_key BLOB;
ALTER TABLE organizations ADD COLUMN previous_signing_key_until INTEGER;

-- The last position that is sent without waiting for a batch.
ALTER TABLE log_heads ADD COLUMN hurried INTEGER NOT NULL DEFAULT 0;

-- Every index ends with the rowid, which here is the place, and that begins with the organization: an event's messages of
-- one organization are one stretch of this, in the order of the log.
CREATE INDEX messages_by_event ON messages (event);

-- Lists of events are JSON; nothing means all.
CREATE TABLE subscriptions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org INTEGER NOT NULL,
    uuid TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT,
    pause_reason TEXT,
    paused_at INTEGER,
    consecutive_errors INTEGER NOT NULL,
    streak INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_success_at INTEGER,
    cursor INTEGER NOT NULL,
    version INTEGER NOT NULL,
    token TEXT
) STRICT;
CREATE UNIQUE INDEX subscriptions_by_url ON subscriptions (org, url);
CREATE UNIQUE INDEX subscriptions_by_uuid ON subscriptions (org, uuid);

-- One of retry_at and dead_at is set.
CREATE TABLE failures (
    subscription INTEGER NOT NULL,
    position INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    first_failed_at INTEGER,
    retry_at INTEGER,
    dead_at INTEGER,
    reason TEXT NOT NULL,
    status INTEGER,
    streak INTEGER NOT NULL,
    PRIMARY KEY (subscription, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX failures_due ON failures (subscription, retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX failures_dead ON failures (subscription, dead_at) WHERE dead_at IS NOT NULL;

-- Positions after one and up to another. Dead since a moment, or being replayed.
CREATE TABLE ranges (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription INTEGER NOT NULL,
    after INTEGER NOT NULL,
    last INTEGER NOT NULL,
    events TEXT,
    since INTEGER NOT NULL,
    replaying INTEGER NOT NULL
) STRICT;
CREATE INDEX ranges_by_subscription ON ranges (subscription);

-- Only ever added to at the end, and removed from the beginning. Both indexes end with the number.
-- Those of a subscription that is gone are not shown, and go when their time comes.
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    subscription INTEGER NOT NULL,
    place INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    latency_us INTEGER NOT NULL,
    status INTEGER,
    error TEXT,
    response TEXT,
    next_at INTEGER
) STRICT;
CREATE INDEX attempts_by_subscription ON attempts (subscription);
CREATE INDEX attempts_by_message ON attempts (place);
