-- What lists and charts are counted from, and words by which things are found.

-- What an account owes, for sums. In no index: it changes with every payment.
ALTER TABLE accounts ADD COLUMN balance INTEGER NOT NULL DEFAULT 0;

-- Small, and in the order of what is counted.
CREATE INDEX accounts_counted ON accounts (org, status, substatus);
-- Accounts with something past due, with what lists of them are cut down by.
CREATE INDEX accounts_past_due ON accounts (org, oldest_unpaid_due, product, status, rolled_to, account)
    WHERE oldest_unpaid_due IS NOT NULL;

-- What is summed up by day, with the sums.
CREATE INDEX line_items_by_day ON line_items (org, kind, effective_at, status, amount)
    WHERE kind = 'PAYMENT' OR kind = 'LATE_FEE';

-- How many attempts began within the hour that begins at a moment, and what came of them.
CREATE TABLE delivery_hours (
    org INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    subscription INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (org, hour, subscription)
) STRICT, WITHOUT ROWID;

-- The index ends with the word: all words of a thing are one stretch of it.
CREATE TABLE words (
    org INTEGER NOT NULL,
    word TEXT NOT NULL,
    kind INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (org, word, kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX words_of_thing ON words (org, kind, id, word);
