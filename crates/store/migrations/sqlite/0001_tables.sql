-- Everything from the beginning. Money is cents, time is microseconds since 1970.
--
-- Rows that may be larger than about a kilobyte live in tables with a rowid: SQLite keeps only small rows whole in the
-- pages of a WITHOUT ROWID table, and would give each larger one a page of its own.

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE organizations (
    org INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    environment TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    signing_key BLOB NOT NULL
) STRICT;

CREATE TABLE keys (
    client_id TEXT NOT NULL PRIMARY KEY,
    org INTEGER NOT NULL,
    secret_hash BLOB NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX keys_by_secret ON keys (secret_hash);
CREATE INDEX keys_by_org ON keys (org, created_at);

CREATE TABLE products (
    id INTEGER PRIMARY KEY,
    org INTEGER NOT NULL,
    product TEXT NOT NULL,
    body TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    mode_version INTEGER NOT NULL,
    holding INTEGER NOT NULL,
    releasing INTEGER NOT NULL,
    suppress_before INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    accounts_total INTEGER NOT NULL,
    events_total INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX products_by_key ON products (org, product);
CREATE INDEX products_not_holding ON products (org, product) WHERE holding = 0;
CREATE INDEX products_releasing ON products (org, product) WHERE releasing = 1;

CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    org INTEGER NOT NULL,
    customer TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    sealed BLOB,
    content_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX customers_by_key ON customers (org, customer);

CREATE TABLE account_customers (
    org INTEGER NOT NULL,
    account TEXT NOT NULL,
    customer TEXT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (org, account, customer)
) STRICT, WITHOUT ROWID;
CREATE INDEX account_customers_by_customer ON account_customers (org, customer, account, role);

CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    org INTEGER NOT NULL,
    account TEXT NOT NULL,
    product TEXT NOT NULL,
    version INTEGER NOT NULL,
    terms BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    effective_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    state BLOB NOT NULL,
    profile TEXT NOT NULL,
    processed_through INTEGER,
    rolled_to INTEGER,
    next_moment INTEGER,
    oldest_unpaid_due INTEGER,
    status TEXT NOT NULL,
    substatus TEXT,
    next_seq INTEGER NOT NULL,
    settled_seq INTEGER NOT NULL,
    held_events INTEGER NOT NULL,
    scheduled_events INTEGER NOT NULL,
    message_seq INTEGER NOT NULL,
    failure TEXT
) STRICT;
CREATE UNIQUE INDEX accounts_by_key ON accounts (org, account);
CREATE INDEX accounts_by_product ON accounts (org, product, account);
CREATE INDEX accounts_by_status ON accounts (org, status, account);
-- The timers. An account without anything to do is not in it.
CREATE INDEX accounts_due ON accounts (org, product, next_moment, account) WHERE next_moment IS NOT NULL;
-- With what is summed up, so that counting reads no account.
CREATE INDEX accounts_held ON accounts (org, product, held_events) WHERE held_events > 0 AND failure IS NULL;
CREATE INDEX accounts_failed ON accounts (org, product, account, held_events) WHERE failure IS NOT NULL;

CREATE TABLE inputs (
    org INTEGER NOT NULL,
    account TEXT NOT NULL,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    applies_at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    scheduled INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    clock INTEGER NOT NULL,
    payload BLOB NOT NULL,
    extra TEXT,
    content_hash BLOB NOT NULL,
    PRIMARY KEY (org, account, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX inputs_by_name ON inputs (org, account, name);

CREATE TABLE line_items (
    org INTEGER NOT NULL,
    account TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    applied_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    principal INTEGER NOT NULL,
    interest INTEGER NOT NULL,
    fees INTEGER NOT NULL,
    splits BLOB NOT NULL,
    extra TEXT,
    PRIMARY KEY (org, account, item)
) STRICT, WITHOUT ROWID;

-- The log. The place is the organization and the position in one number (org << 40 | position), so that the table is its own
-- index and is only ever added to at an organization's end.
CREATE TABLE messages (
    place INTEGER PRIMARY KEY,
    org INTEGER NOT NULL,
    account TEXT,
    sequence INTEGER NOT NULL,
    event TEXT NOT NULL,
    event_id TEXT NOT NULL,
    cause TEXT NOT NULL,
    subject TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    data BLOB NOT NULL,
    signature TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_account ON messages (org, account, sequence) WHERE account IS NOT NULL;

CREATE TABLE log_heads (
    org INTEGER PRIMARY KEY,
    head INTEGER NOT NULL
) STRICT;

-- The id is the order of arrival: of two that are due at the same moment, the earlier goes first.
CREATE TABLE waiting_messages (
    id INTEGER PRIMARY KEY,
    due_at INTEGER NOT NULL,
    org INTEGER NOT NULL,
    account TEXT,
    sequence INTEGER NOT NULL,
    event TEXT NOT NULL,
    event_id TEXT NOT NULL,
    cause TEXT NOT NULL,
    subject TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    data BLOB NOT NULL,
    signature TEXT NOT NULL
) STRICT;
CREATE INDEX waiting_messages_due ON waiting_messages (due_at);
CREATE INDEX waiting_messages_by_account ON waiting_messages (org, account, sequence) WHERE account IS NOT NULL;

CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    org INTEGER NOT NULL,
    key TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    body BLOB NOT NULL,
    recorded_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX answers_by_key ON answers (org, key);
CREATE INDEX answers_by_expiry ON answers (expires_at);
