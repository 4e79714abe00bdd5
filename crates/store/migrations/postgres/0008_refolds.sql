-- Accounts that were folded by earlier rules and wait to be folded again, and what that changed.

CREATE TABLE accounts_to_refold (
    org bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, account)
);
INSERT INTO accounts_to_refold (org, account) SELECT org, account FROM accounts;

-- An account whose balances or status moved, or that could not be folded again. The states are JSON.
CREATE TABLE refolds (
    org bigint NOT NULL,
    account text COLLATE "C" NOT NULL,
    rules_version bigint NOT NULL,
    recorded_at bigint NOT NULL,
    state_before text,
    state_after text,
    failure text,
    PRIMARY KEY (org, account, rules_version)
);
