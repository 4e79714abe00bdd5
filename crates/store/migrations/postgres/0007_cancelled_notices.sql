-- A waiting message that is cancelled stays, so that the numbers of its account's messages have no hole, and is never sent.

ALTER TABLE waiting_messages ADD COLUMN cancelled_at bigint;

DROP INDEX waiting_messages_due;
CREATE INDEX waiting_messages_due ON waiting_messages (due_at, arrival) WHERE cancelled_at IS NULL;
CREATE INDEX waiting_messages_cancelled ON waiting_messages (cancelled_at) WHERE cancelled_at IS NOT NULL;

-- Notices of accounts that were closed before their moment came.
UPDATE waiting_messages m SET cancelled_at = a.updated_at
FROM accounts a
WHERE a.org = m.org AND a.account = m.account AND a.status = 'CLOSED'
    AND starts_with(m.cause, 'notice:') AND m.due_at > a.updated_at;
