-- What lists and charts are counted from, and words by which things are found.

-- What an account owes, for sums. In no index: it changes with every payment, and the row is rewritten where it is.
ALTER TABLE accounts ADD COLUMN balance bigint NOT NULL DEFAULT 0;

-- Small, and in the order of what is counted.
CREATE INDEX accounts_counted ON accounts (org, status, substatus);
-- Accounts with something past due.
CREATE INDEX accounts_past_due ON accounts (org, oldest_unpaid_due, account) WHERE oldest_unpaid_due IS NOT NULL;

-- What is summed up by day, with the sums.
CREATE INDEX line_items_by_day ON line_items (org, kind, effective_at) INCLUDE (status, amount)
    WHERE kind IN ('PAYMENT', 'LATE_FEE');

-- How many attempts began within the hour that begins at a moment, and what came of them.
CREATE TABLE delivery_hours (
    org bigint NOT NULL,
    hour bigint NOT NULL,
    subscription bigint NOT NULL,
    delivered bigint NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (org, hour, subscription)
) WITH (fillfactor = 50);

CREATE TABLE words (
    org bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    kind smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, word, kind, id)
);
CREATE INDEX words_of_thing ON words (org, kind, id, word);
