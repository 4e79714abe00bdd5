-- The outgoing side: who gets messages, what failed, what nobody tried, what was tried.

ALTER TABLE organizations
    ADD COLUMN previous_signing_key bytea,
    ADD COLUMN previous_until bigint;

-- The last position that is sent without waiting for a batch.
ALTER TABLE log_heads ADD COLUMN hurried bigint NOT NULL DEFAULT 0;

-- A subscription with a filter reads its events, each by its stretch of this index.
CREATE INDEX messages_of_event ON messages (org, event, position);

-- The cursor and the lease change all the time and are in no index: a row is rewritten where it is.
CREATE TABLE subscriptions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org bigint NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    url text COLLATE "C" NOT NULL,
    filter text[] COLLATE "C",
    paused_reason text COLLATE "C",
    paused_at bigint,
    consecutive_errors bigint NOT NULL,
    streak bigint NOT NULL,
    created_at bigint NOT NULL,
    last_success_at bigint,
    cursor bigint NOT NULL,
    version bigint NOT NULL,
    lease_token text COLLATE "C",
    leased_until bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX subscriptions_by_url ON subscriptions (org, url);
CREATE UNIQUE INDEX subscriptions_by_uuid ON subscriptions (org, uuid);

-- One of `retry_at` and `dead_at` is there.
CREATE TABLE failures (
    org bigint NOT NULL,
    subscription bigint NOT NULL,
    position bigint NOT NULL,
    attempts bigint NOT NULL,
    first_failed_at bigint,
    retry_at bigint,
    dead_at bigint,
    reason text COLLATE "C" NOT NULL,
    status integer,
    streak bigint NOT NULL,
    PRIMARY KEY (org, subscription, position),
    CHECK ((retry_at IS NULL) <> (dead_at IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX failures_due ON failures (org, subscription, retry_at, position) WHERE retry_at IS NOT NULL;
CREATE INDEX failures_dead ON failures (dead_at) WHERE dead_at IS NOT NULL;

-- Positions beyond `after` up to and including `last`; all events without a filter. Dead since `since`, or since each was
-- announced, unless they are being replayed.
CREATE TABLE ranges (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org bigint NOT NULL,
    subscription bigint NOT NULL,
    after bigint NOT NULL,
    last bigint NOT NULL,
    filter text[] COLLATE "C",
    since bigint NOT NULL,
    replaying boolean NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX ranges_of_subscription ON ranges (org, subscription, id);

-- Thousands of rows a second come at the end, and go at the beginning: no more indexes than lists need.
CREATE TABLE attempts (
    org bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    subscription bigint NOT NULL,
    position bigint NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    latency_us bigint NOT NULL,
    status integer,
    error text COLLATE "C",
    response text COLLATE "C",
    next_at bigint,
    PRIMARY KEY (org, id)
);
CREATE INDEX attempts_at_message ON attempts (org, position);
CREATE INDEX attempts_of_subscription ON attempts (org, subscription, id);
