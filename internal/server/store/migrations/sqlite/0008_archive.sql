-- Several archives in one database, one for each tenant. The tenant is part of each foreign key, so that
-- nothing can be in a folder of another tenant.
CREATE TABLE tenant (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  cloud_id TEXT UNIQUE CHECK (cloud_id != ''),
  name     TEXT NOT NULL DEFAULT ''
) STRICT;

INSERT INTO tenant (id) VALUES (1);

CREATE TABLE setting (
  tenant INTEGER NOT NULL REFERENCES tenant (id),
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- A root (parent is null) is a mandator or, with inbox = 1, an inbox of user_id.
-- The whole tree below an inbox has inbox = 1. folded is what searches compare (see fold in words.go).
CREATE TABLE folder (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant  INTEGER NOT NULL REFERENCES tenant (id),
  parent  INTEGER,
  name    TEXT NOT NULL,
  folded  TEXT NOT NULL,
  inbox   INTEGER NOT NULL CHECK (inbox IN (0, 1)),
  user_id INTEGER,
  UNIQUE (id, tenant),
  FOREIGN KEY (parent, tenant) REFERENCES folder (id, tenant)
) STRICT;

CREATE UNIQUE INDEX folder_child ON folder (parent, name) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX folder_root ON folder (tenant, inbox, name) WHERE parent IS NULL;
CREATE INDEX folder_parent ON folder (parent, inbox);
-- Everything that listing the structure needs, in its order.
CREATE INDEX folder_tenant ON folder (tenant, inbox, id, parent, name, user_id);

-- Times are seconds since 1970 in UTC; archived is null in an inbox.
-- keywords and types are JSON arrays of strings, metadata is a JSON array of
-- {"key","value"}: a list of documents is one scan and passes them on unchanged.
-- digest names the content, source the uploaded content if that is a different one (for an
-- attachment, the e-mail). The documents of one upload have the same number in upload.
-- said and pairs are what searches compare, folded: name, keywords, types, values of metadata, external id, and the
-- texts of notes and stamps, each after a character that says which it is; pairs has the keys of metadata, too.
-- The ids are of the users who added and archived the document: that of the account with the name at that
-- time, else of the inbox with the name, else 0.
CREATE TABLE document (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant       INTEGER NOT NULL,
  folder       INTEGER NOT NULL,
  name         TEXT NOT NULL,
  created      INTEGER NOT NULL,
  archived     INTEGER,
  pages        INTEGER NOT NULL,
  size         INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  keywords     TEXT NOT NULL,
  metadata     TEXT NOT NULL,
  auto_export  INTEGER NOT NULL CHECK (auto_export IN (0, 1)),
  digest       TEXT NOT NULL,
  types        TEXT NOT NULL,
  creator      TEXT NOT NULL,
  external_id  TEXT,
  source       TEXT,
  upload       INTEGER,
  said         TEXT NOT NULL,
  pairs        TEXT NOT NULL,
  creator_id   INTEGER NOT NULL DEFAULT 0,
  archiver_id  INTEGER NOT NULL DEFAULT 0,
  FOREIGN KEY (folder, tenant) REFERENCES folder (id, tenant)
) STRICT;

CREATE INDEX document_folder ON document (folder, created);
CREATE INDEX document_tenant ON document (tenant, created);
CREATE INDEX document_digest ON document (digest);
CREATE INDEX document_external ON document (external_id, folder) WHERE external_id IS NOT NULL;
CREATE INDEX document_upload ON document (upload) WHERE upload IS NOT NULL;
CREATE INDEX document_auto_export ON document (tenant) WHERE auto_export;

CREATE TABLE annotation (
  id       INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
  page     INTEGER NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('note', 'stamp')),
  title    TEXT NOT NULL,
  text     TEXT NOT NULL,
  date     TEXT NOT NULL,
  creator  TEXT NOT NULL,
  folded_title TEXT NOT NULL,
  folded_text  TEXT NOT NULL,
  creator_id   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX annotation_document ON annotation (document);

-- A rendition of a content; variant tells apart several, for example those that depend on the name.
CREATE TABLE rendition (
  source  TEXT NOT NULL,
  variant TEXT NOT NULL,
  digest  TEXT NOT NULL,
  PRIMARY KEY (source, variant)
) STRICT, WITHOUT ROWID;

CREATE INDEX rendition_digest ON rendition (digest);

-- Who has changed what, and when (seconds since 1970 in UTC). An archived document has a new id;
-- former is the previous one. was and became have a bounded length. There are no foreign keys, because
-- the audit trail of a document outlives it.
CREATE TABLE audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant   INTEGER NOT NULL REFERENCES tenant (id),
  at       INTEGER NOT NULL,
  who      TEXT NOT NULL,
  document INTEGER,
  former   INTEGER,
  folder   INTEGER,
  action   TEXT NOT NULL,
  key      TEXT NOT NULL,
  was      TEXT NOT NULL,
  became   TEXT NOT NULL
) STRICT;

CREATE INDEX audit_tenant ON audit (tenant);
CREATE INDEX audit_document ON audit (document) WHERE document IS NOT NULL;

-- Documents that an administrator has removed: their rows as JSON, for restoring them. From due on (seconds
-- since 1970) a document is erased: erasing says that this has begun, and that the row only remembers what is
-- left to do. digest names the content, which is kept until then. law says that retention does not hold it.
CREATE TABLE trash (
  id          INTEGER PRIMARY KEY,
  tenant      INTEGER NOT NULL REFERENCES tenant (id),
  digest      TEXT NOT NULL,
  size        INTEGER NOT NULL,
  removed     INTEGER NOT NULL,
  due         INTEGER NOT NULL,
  law         INTEGER NOT NULL CHECK (law IN (0, 1)),
  erasing     INTEGER NOT NULL CHECK (erasing IN (0, 1)),
  who         TEXT NOT NULL,
  reason      TEXT NOT NULL CHECK (reason != ''),
  place       TEXT NOT NULL,
  document    TEXT NOT NULL,
  annotations TEXT NOT NULL
) STRICT;

CREATE INDEX trash_digest ON trash (digest);
CREATE INDEX trash_due ON trash (due);

-- How long documents are kept after they were archived: those of a type (empty: all) in a folder or below it
-- (null: anywhere).
CREATE TABLE retention (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL REFERENCES tenant (id),
  name   TEXT NOT NULL,
  months INTEGER NOT NULL,
  days   INTEGER NOT NULL,
  folder INTEGER,
  type   TEXT NOT NULL,
  FOREIGN KEY (folder, tenant) REFERENCES folder (id, tenant)
) STRICT;

-- The audit trail is only added to, but that of a document that is erased loses its texts: names and metadata
-- are personal data. Who changed something, what, when, and the reason of the removal stay.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
WHEN NOT (new.id = old.id AND new.tenant = old.tenant AND new.at = old.at AND new.who = old.who AND new.document IS old.document
  AND new.former IS old.former AND new.folder IS old.folder AND new.action = old.action
  AND new.key = '' AND new.was = '' AND (new.became = '' OR new.became = old.became)
  AND (EXISTS (SELECT 1 FROM trash WHERE id = old.document AND erasing)
    OR EXISTS (SELECT 1 FROM trash JOIN audit AS later ON later.document = trash.id WHERE erasing AND later.former = old.document))) BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = new.id) BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;

-- An archived document cannot be changed, whoever writes to the database, except its metadata, and is removed only
-- after it was put into the trash, with a reason.
CREATE TRIGGER archived_is_not_changed
BEFORE UPDATE OF id, tenant, folder, created, archived, size, content_type, digest, source ON document
WHEN old.archived IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be changed');
END;
CREATE TRIGGER archived_is_not_removed BEFORE DELETE ON document
WHEN old.archived IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trash WHERE id = old.id) BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be removed');
END;
CREATE TRIGGER archived_is_not_replaced BEFORE INSERT ON document
WHEN EXISTS (SELECT 1 FROM document WHERE id = new.id AND archived IS NOT NULL) BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be replaced');
END;

-- The trigram index of said. Documents are indexed some time after they were added, so that uploads do
-- not wait; those after indexed_to.id are searched one by one.
CREATE VIRTUAL TABLE said_index USING fts5 (said, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');

CREATE TABLE indexed_to (id INTEGER NOT NULL) STRICT;
INSERT INTO indexed_to VALUES (0);

CREATE TRIGGER said_is_changed AFTER UPDATE OF said ON document
WHEN new.said != old.said AND old.id <= (SELECT id FROM indexed_to) BEGIN
  UPDATE said_index SET said = new.said WHERE rowid = old.id;
END;
CREATE TRIGGER said_is_removed AFTER DELETE ON document WHEN old.id <= (SELECT id FROM indexed_to) BEGIN
  DELETE FROM said_index WHERE rowid = old.id;
END;
-- One that is restored has its former id, which the index of metadata has passed.
CREATE TRIGGER said_is_restored AFTER INSERT ON document WHEN new.id <= (SELECT id FROM indexed_to) BEGIN
  INSERT INTO said_index (rowid, said) VALUES (new.id, new.said);
END;

-- The distinct contents of all documents, and the state of their text (Reading in text_index.go), with a
-- reason: the name of the package that lacks, or why it cannot be read. A waiting content or scan is not
-- claimed before due (seconds since 1970): it is claimed, or was put off.
CREATE TABLE content (
  id           INTEGER PRIMARY KEY,
  digest       TEXT NOT NULL UNIQUE,
  content_type TEXT NOT NULL,
  size         INTEGER NOT NULL,
  state        TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'scan', 'yes', 'none', 'no engine', 'unreadable')),
  attempts     INTEGER NOT NULL DEFAULT 0,
  due          INTEGER NOT NULL DEFAULT 0,
  reason       TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX content_due ON content (due, id) WHERE state = 'waiting';
CREATE INDEX content_scan ON content (due, id) WHERE state = 'scan';
CREATE INDEX content_lacks ON content (reason) WHERE state = 'no engine';

-- The words of a text, in order, and the stems that are not among them. They consist of letters and
-- digits: see words.go.
CREATE VIRTUAL TABLE content_index USING fts5 (words, stems, content = '', contentless_delete = 1, tokenize = 'ascii');

CREATE TRIGGER content_is_added AFTER INSERT ON document
WHEN NOT EXISTS (SELECT 1 FROM content WHERE digest = new.digest) BEGIN
  INSERT INTO content (digest, content_type, size) VALUES (new.digest, new.content_type, new.size);
END;
CREATE TRIGGER content_is_replaced AFTER UPDATE OF digest ON document
WHEN NOT EXISTS (SELECT 1 FROM content WHERE digest = new.digest) BEGIN
  INSERT INTO content (digest, content_type, size) VALUES (new.digest, new.content_type, new.size);
END;
CREATE TRIGGER content_is_left AFTER UPDATE OF digest ON document
WHEN NOT EXISTS (SELECT 1 FROM document WHERE digest = old.digest) BEGIN
  DELETE FROM content WHERE digest = old.digest;
END;
CREATE TRIGGER content_is_unused AFTER DELETE ON document
WHEN NOT EXISTS (SELECT 1 FROM document WHERE digest = old.digest) BEGIN
  DELETE FROM content WHERE digest = old.digest;
END;
CREATE TRIGGER content_is_removed AFTER DELETE ON content BEGIN
  DELETE FROM content_index WHERE rowid = old.id;
END;

-- Users and API keys. password is a hash, with its parameters; hash is the SHA-256 of a key, in
-- hexadecimal; scopes and mandators are JSON arrays of texts and of ids; a key without mandators is
-- for all of them.
CREATE TABLE account (
  id       INTEGER PRIMARY KEY,
  tenant   INTEGER NOT NULL REFERENCES tenant (id),
  name     TEXT NOT NULL,
  password TEXT NOT NULL,
  created  INTEGER NOT NULL,
  UNIQUE (tenant, name)
) STRICT;

CREATE TABLE api_key (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant    INTEGER NOT NULL REFERENCES tenant (id),
  name      TEXT NOT NULL,
  hash      TEXT NOT NULL UNIQUE,
  scopes    TEXT NOT NULL,
  mandators TEXT,
  created   INTEGER NOT NULL,
  expires   INTEGER,
  revoked   INTEGER,
  used      INTEGER
) STRICT;

CREATE INDEX api_key_tenant ON api_key (tenant);
