CREATE TABLE setting (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A root (parent is null) is a mandator or, with inbox = 1, an inbox of user_id.
-- The whole tree below an inbox has inbox = 1.
CREATE TABLE folder (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  parent  INTEGER REFERENCES folder (id),
  name    TEXT NOT NULL,
  inbox   INTEGER NOT NULL CHECK (inbox IN (0, 1)),
  user_id INTEGER
) STRICT;

CREATE UNIQUE INDEX folder_child ON folder (parent, name) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX folder_root ON folder (inbox, name) WHERE parent IS NULL;
CREATE INDEX folder_parent ON folder (parent, inbox);

-- Times are seconds since 1970 in UTC; archived is null in an inbox.
-- keywords and types are JSON arrays of strings, metadata is a JSON array of
-- {"key","value"}: a list of documents is one scan and passes them on unchanged.
-- digest names the content, source the uploaded content if that is a different one (for an
-- attachment, the e-mail). The documents of one upload have the same number in upload.
CREATE TABLE document (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  folder       INTEGER NOT NULL REFERENCES folder (id),
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
  upload       INTEGER
) STRICT;

CREATE INDEX document_folder ON document (folder, created);
CREATE INDEX document_digest ON document (digest);
CREATE INDEX document_external ON document (external_id, folder) WHERE external_id IS NOT NULL;
CREATE INDEX document_upload ON document (upload) WHERE upload IS NOT NULL;

CREATE TABLE annotation (
  id       INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
  page     INTEGER NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('note', 'stamp')),
  title    TEXT NOT NULL,
  text     TEXT NOT NULL,
  date     TEXT NOT NULL,
  creator  TEXT NOT NULL
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
