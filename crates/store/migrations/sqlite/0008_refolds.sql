-- Accounts that were folded by earlier rules and wait to be folded again, and what that changed.

CREATE TABLE accounts_to_refold (
    org INTEGER NOT NULL,
    account TEXT NOT NULL,
    PRIMARY KEY (org, account)
) STRICT, WITHOUT ROWID;
INSERT INTO accounts_to_refold (org, account) SELECT org, account FROM accounts;

-- An account whose balances or status moved, or that could not be folded again. The states are JSON.
CREATE TABLE refolds (
    org INTEGER NOT NULL,
    account TEXT NOT NULL,
    rules_version INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    state_before TEXT,
    state_after TEXT,
    failure TEXT,
    PRIMARY KEY (org, account, rules_version)
) STRICT, WITHOUT ROWID;
