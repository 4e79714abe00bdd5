-- Who did what, to what, when, from where: a chain of records for each organization. Organization 0 has the records that
-- belong to none. Records that were made before this migration do not exist: the chains begin here.

CREATE TABLE audit (
    org          bigint NOT NULL,
    seq          bigint NOT NULL CHECK (seq > 0),
    at           bigint NOT NULL,
    actor        text COLLATE "C" NOT NULL,
    session      text COLLATE "C" NOT NULL,
    address      text COLLATE "C" NOT NULL,
    request_id   text COLLATE "C" NOT NULL,
    action       text COLLATE "C" NOT NULL,
    subject_type text COLLATE "C" NOT NULL,
    subject_id   text COLLATE "C" NOT NULL,
    details      text COLLATE "C" NOT NULL,
    hash         bytea NOT NULL,
    PRIMARY KEY (org, seq)
);

CREATE INDEX audit_by_actor ON audit (org, actor, seq);
-- Most records are payments: those are found on the way from the last record back.
CREATE INDEX audit_by_action ON audit (org, action, seq) WHERE action <> 'record_payment';
CREATE INDEX audit_by_subject ON audit (org, subject_id, seq);
CREATE INDEX audit_by_time ON audit USING brin (at);

-- The last record of each chain.
CREATE TABLE audit_heads (
    org  bigint PRIMARY KEY,
    seq  bigint NOT NULL,
    hash bytea NOT NULL
) WITH (fillfactor = 50);

-- A new organization has a chain, whichever build makes it: nodes of an earlier one may still run.
CREATE FUNCTION audit_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_heads (org, seq, hash) VALUES (new.org, 0, '');
    RETURN NULL;
END $$;
CREATE TRIGGER audit_begins AFTER INSERT ON organizations FOR EACH ROW EXECUTE FUNCTION audit_begins();

INSERT INTO audit_heads (org, seq, hash) SELECT org, 0, '' FROM organizations;
INSERT INTO audit_heads (org, seq, hash) VALUES (0, 0, '');

CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'records of the audit trail are neither changed nor removed';
END $$;
CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();
