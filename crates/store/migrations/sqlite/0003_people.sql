-- People who use the console: users, their sessions, links that make a user.

-- The key of an address is the address as it is compared: in small letters.
CREATE TABLE people (
    person TEXT NOT NULL PRIMARY KEY,
    org INTEGER NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX people_by_email ON people (email_key);
CREATE INDEX people_by_org ON people (org, created_at);

-- Whoever shows the token is the person, until the session expires. Only the token's hash is kept.
CREATE TABLE sessions (
    token_hash BLOB NOT NULL PRIMARY KEY,
    person TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_person ON sessions (person);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Whoever shows the token may become a person of the organization, once.
CREATE TABLE invitations (
    token_hash BLOB NOT NULL PRIMARY KEY,
    org INTEGER NOT NULL,
    role TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_org ON invitations (org, created_at);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- How often somebody was wrong: about an address, or from a place.
CREATE TABLE guesses (
    subject BLOB NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    wait_until INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX guesses_by_expiry ON guesses (expires_at);
