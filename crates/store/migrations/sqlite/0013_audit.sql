-- Who did what, to what, when, from where: a chain of records for each organization. Organization 0 has the records that
-- belong to none. Records that were made before this migration do not exist: the chains begin here.

CREATE TABLE audit (
    org          INTEGER NOT NULL,
    seq          INTEGER NOT NULL CHECK (seq > 0),
    at           INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    session      TEXT NOT NULL,
    address      TEXT NOT NULL,
    request_id   TEXT NOT NULL,
    action       TEXT NOT NULL,
    subject_type TEXT NOT NULL,
    subject_id   TEXT NOT NULL,
    details      TEXT NOT NULL,
    hash         BLOB NOT NULL,
    PRIMARY KEY (org, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_by_actor ON audit (org, actor, seq);
-- Most records are payments: those are found on the way from the last record back.
CREATE INDEX audit_by_action ON audit (org, action, seq) WHERE action <> 'record_payment';
CREATE INDEX audit_by_subject ON audit (org, subject_id, seq);
CREATE INDEX audit_by_time ON audit (org, at);

-- The last record of each chain.
CREATE TABLE audit_heads (
    org  INTEGER PRIMARY KEY,
    seq  INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- A new organization has a chain, whichever build makes it.
CREATE TRIGGER audit_begins AFTER INSERT ON organizations
BEGIN INSERT INTO audit_heads (org, seq, hash) VALUES (new.org, 0, x''); END;

INSERT INTO audit_heads (org, seq, hash) SELECT org, 0, x'' FROM organizations;
INSERT INTO audit_heads (org, seq, hash) VALUES (0, 0, x'');

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'records of the audit trail are not changed'); END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'records of the audit trail are not removed'); END;
