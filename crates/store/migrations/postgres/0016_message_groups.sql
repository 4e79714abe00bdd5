-- Messages are stored compressed, in groups. Nodes of earlier builds know only the column `data`: without it they cannot read
-- a compressed message, and so cannot send one.

ALTER TABLE messages RENAME COLUMN data TO content;
ALTER TABLE waiting_messages RENAME COLUMN data TO content;

-- Messages of earlier builds are compressed in the background. The value is the organization and the position up to which
-- that is done.
INSERT INTO settings (name, value)
SELECT 'messages_to_compress', ''::bytea
WHERE EXISTS (SELECT 1 FROM messages) OR EXISTS (SELECT 1 FROM waiting_messages);
