-- A waiting message that is cancelled stays, so that the numbers of its account's messages have no hole, and is never sent.

ALTER TABLE waiting_messages ADD COLUMN cancelled_at INTEGER;

DROP INDEX waiting_messages_due;
CREATE INDEX waiting_messages_due ON waiting_messages (due_at) WHERE cancelled_at IS NULL;
CREATE INDEX waiting_messages_cancelled ON waiting_messages (cancelled_at) WHERE cancelled_at IS NOT NULL;
-- Ends with the id: an organization's waiting messages in the order of arrival.
CREATE INDEX waiting_messages_by_org ON waiting_messages (org);

-- Notices of accounts that were closed before their moment came.
UPDATE waiting_messages AS m SET cancelled_at = a.updated_at
FROM accounts AS a
WHERE a.org = m.org AND a.account = m.account AND a.status = 'CLOSED'
    AND substr(m.cause, 1, 7) = 'notice:' AND m.due_at > a.updated_at;
