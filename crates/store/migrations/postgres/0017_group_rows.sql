-- A row has all messages of a group. The table has another name: a node of an earlier build, which would skip all messages
-- of a group but the last, can read none.

ALTER TABLE messages RENAME TO message_groups;
-- How many messages the row has. Its position is that of the last one.
ALTER TABLE message_groups ADD COLUMN size integer NOT NULL DEFAULT 1;
-- Not compared with the rows that are there, which have one message each.
ALTER TABLE message_groups ADD CONSTRAINT message_groups_size CHECK (size BETWEEN 1 AND 16) NOT VALID;

-- The column is empty in rows of several messages.
DROP INDEX messages_of_event;
CREATE INDEX messages_of_event ON message_groups (org, event, position) WHERE event <> '';

-- The events of a row of several messages. Bit k of the mask is the message k positions before the row's last one.
CREATE TABLE message_events (
    org bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    mask integer NOT NULL,
    -- With the mask, messages are counted from the index alone.
    PRIMARY KEY (org, event, position) INCLUDE (mask)
);

-- Rows of earlier builds are turned over in the background, from the beginning.
INSERT INTO settings (name, value)
SELECT 'messages_to_compress', ''::bytea
WHERE EXISTS (SELECT 1 FROM message_groups) OR EXISTS (SELECT 1 FROM waiting_messages)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
