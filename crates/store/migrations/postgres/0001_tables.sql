-- The tables of Daybook. Money is bigint cents, time is bigint microseconds since 1970, ids sort by bytes (COLLATE "C").
-- There are no foreign keys: an account's rows are written under the claim of its account, and a check per row would cost
-- more than it finds.

CREATE TABLE settings (
    name text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

CREATE TABLE organizations (
    org bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    environment text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    signing_key bytea NOT NULL
);

CREATE TABLE keys (
    org bigint NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    secret_hash bytea NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    revoked_at bigint,
    PRIMARY KEY (client_id)
) WITH (fillfactor = 70);
CREATE INDEX keys_of_organization ON keys (org, created_at, client_id);

CREATE TABLE products (
    org bigint NOT NULL,
    product text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    created_at bigint NOT NULL,
    mode_version bigint NOT NULL,
    holding boolean NOT NULL,
    releasing boolean NOT NULL,
    suppress_before bigint,
    started_at bigint,
    finished_at bigint,
    accounts_total bigint NOT NULL,
    events_total bigint NOT NULL,
    PRIMARY KEY (org, product)
);
CREATE INDEX products_releasing ON products (org, product) WHERE releasing;

CREATE TABLE customers (
    org bigint NOT NULL,
    customer_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    body text COLLATE "C" NOT NULL,
    sealed bytea,
    content_hash bytea NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (org, customer_id)
);

CREATE TABLE account_customers (
    org bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    customer_id text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, account, customer_id)
);
CREATE INDEX accounts_of_customer ON account_customers (org, customer_id, account);

-- Room is left in the pages so that an account whose next moment stays can be rewritten where it is, without touching an
-- index. The lease is not indexed for the same reason. States stay in the row up to the size of a page.
CREATE TABLE accounts (
    org bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    product text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    terms bytea NOT NULL,
    content_hash bytea NOT NULL,
    effective_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    state bytea NOT NULL,
    profile text COLLATE "C" NOT NULL,
    processed_through bigint,
    rolled_to bigint,
    next_moment bigint,
    oldest_unpaid_due bigint,
    status text COLLATE "C" NOT NULL,
    substatus text COLLATE "C",
    next_seq bigint NOT NULL,
    settled_seq bigint NOT NULL,
    held_events bigint NOT NULL,
    scheduled_events bigint NOT NULL,
    message_seq bigint NOT NULL,
    failure text COLLATE "C",
    leased_until bigint,
    PRIMARY KEY (org, account)
) WITH (fillfactor = 80, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX accounts_due ON accounts (org, product, next_moment) WHERE next_moment IS NOT NULL;
CREATE INDEX accounts_of_product ON accounts (org, product, account);
CREATE INDEX accounts_by_status ON accounts (org, status, account);
CREATE INDEX accounts_held ON accounts (org, product) INCLUDE (held_events) WHERE held_events > 0 AND failure IS NULL;
CREATE INDEX accounts_failed ON accounts (org, product, account) WHERE failure IS NOT NULL;

CREATE TABLE inputs (
    org bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    effective_at bigint NOT NULL,
    applies_at bigint NOT NULL,
    rank smallint NOT NULL,
    scheduled boolean NOT NULL,
    recorded_at bigint NOT NULL,
    clock bigint NOT NULL,
    payload bytea NOT NULL,
    extra text COLLATE "C",
    content_hash bytea NOT NULL,
    PRIMARY KEY (org, account, seq)
);
CREATE UNIQUE INDEX inputs_by_name ON inputs (org, account, name);
CREATE INDEX inputs_by_place ON inputs (org, account, applies_at);

CREATE TABLE line_items (
    org bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    effective_at bigint NOT NULL,
    applied_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    amount bigint NOT NULL,
    balance bigint NOT NULL,
    principal bigint NOT NULL,
    interest bigint NOT NULL,
    fees bigint NOT NULL,
    splits bytea NOT NULL,
    extra text COLLATE "C",
    PRIMARY KEY (org, account, item_id)
) WITH (fillfactor = 90);

CREATE TABLE log_heads (
    org bigint PRIMARY KEY,
    head bigint NOT NULL
) WITH (fillfactor = 50);

-- Data of a few kilobytes stays in the row: compressing it would cost more time than it saves.
CREATE TABLE messages (
    org bigint NOT NULL,
    position bigint NOT NULL,
    account text COLLATE "C",
    sequence bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    cause text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    effective_at bigint NOT NULL,
    recorded_at bigint NOT NULL,
    data bytea NOT NULL,
    signature text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, position)
) WITH (toast_tuple_target = 8160);
CREATE INDEX messages_of_account ON messages (org, account, sequence) WHERE account IS NOT NULL;

-- `arrival` is the order in which messages with the same due moment go into the log.
CREATE TABLE waiting_messages (
    org bigint NOT NULL,
    arrival bigint GENERATED ALWAYS AS IDENTITY,
    due_at bigint NOT NULL,
    account text COLLATE "C",
    sequence bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    cause text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    effective_at bigint NOT NULL,
    recorded_at bigint NOT NULL,
    data bytea NOT NULL,
    signature text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, arrival)
) WITH (toast_tuple_target = 8160);
CREATE INDEX waiting_messages_due ON waiting_messages (due_at, arrival);
CREATE INDEX waiting_messages_of_account ON waiting_messages (org, account, sequence) WHERE account IS NOT NULL;

CREATE TABLE answers (
    org bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    body bytea NOT NULL,
    recorded_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (org, key)
);
CREATE INDEX answers_by_expiry ON answers (expires_at);
