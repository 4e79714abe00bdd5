-- An account's messages are found by what made them, without reading the others.
DROP INDEX messages_by_account;
CREATE INDEX messages_by_account ON messages (org, account, sequence, cause) WHERE account IS NOT NULL;

-- A database from before there were words has none: the program writes them when it starts, and notes that it has.
INSERT INTO settings (name, value)
SELECT 'words_to_fill_in', x'01'
WHERE EXISTS (SELECT 1 FROM organizations) AND NOT EXISTS (SELECT 1 FROM words);
