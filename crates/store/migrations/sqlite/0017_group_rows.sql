-- A row has all messages of a group. The table has another name: a node of an earlier build, which would skip all messages
-- of a group but the last, can read none.

ALTER TABLE messages RENAME TO message_groups;
-- How many messages the row has. Its place is that of the last one. A CHECK would be compared with all rows that are
-- there, so there is none: readers believe the content, and no row to have more than 16 messages.
ALTER TABLE message_groups ADD COLUMN size INTEGER NOT NULL DEFAULT 1;

-- The column is empty in rows of several messages.
DROP INDEX messages_by_event;
CREATE INDEX messages_by_event ON message_groups (event) WHERE event <> '';

-- The events of a row of several messages. Bit k of the mask is the message k positions before the row's last one.
CREATE TABLE message_events (
    event TEXT NOT NULL,
    place INTEGER NOT NULL,
    mask INTEGER NOT NULL,
    PRIMARY KEY (event, place)
) STRICT, WITHOUT ROWID;

-- Rows of earlier builds are turned over in the background, from the beginning.
INSERT INTO settings (name, value)
SELECT 'messages_to_compress', x''
WHERE EXISTS (SELECT 1 FROM message_groups) OR EXISTS (SELECT 1 FROM waiting_messages)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
