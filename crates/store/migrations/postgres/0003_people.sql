-- People who use the console: users, their sessions, links that make a user.

-- The key of an address is the address as it is compared: in small letters.
CREATE TABLE people (
    person text COLLATE "C" PRIMARY KEY,
    org bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL,
    email_key text COLLATE "C" NOT NULL UNIQUE,
    password_hash text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    last_seen_at bigint,
    disabled_at bigint
) WITH (fillfactor = 70);
CREATE INDEX people_of_organization ON people (org, created_at, person);

-- Whoever shows the token is the person, until the session expires. Only the token's hash is kept.
CREATE TABLE sessions (
    token_hash bytea PRIMARY KEY,
    person text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX sessions_of_person ON sessions (person);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Whoever shows the token may become a person of the organization, once.
CREATE TABLE invitations (
    token_hash bytea PRIMARY KEY,
    org bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX invitations_of_organization ON invitations (org, created_at);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- How often somebody was wrong: about an address, or from a place.
CREATE TABLE guesses (
    subject bytea PRIMARY KEY,
    failures bigint NOT NULL,
    wait_until bigint NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX guesses_by_expiry ON guesses (expires_at);
