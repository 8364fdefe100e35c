-- Searched texts are also stored folded (see fold in words.go), so that searches need not fold them.
--
-- Several archives in one database, one for each tenant. Existing rows belong to the first tenant.
-- The tenant is part of each foreign key, so that nothing can be in a folder of another tenant.
CREATE TABLE tenant (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  cloud_id TEXT UNIQUE CHECK (cloud_id != '')
) STRICT;

INSERT INTO tenant (id) VALUES (1);

ALTER TABLE setting RENAME TO setting_before;

CREATE TABLE setting (
  tenant INTEGER NOT NULL REFERENCES tenant (id),
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

INSERT INTO setting (tenant, name, value) SELECT 1, name, value FROM setting_before;
DROP TABLE setting_before;

-- SQLite cannot add such a column. So each table is made again, with the existing ids.
CREATE TABLE folder_new (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant  INTEGER NOT NULL REFERENCES tenant (id),
  parent  INTEGER,
  name    TEXT NOT NULL,
  folded  TEXT NOT NULL,
  inbox   INTEGER NOT NULL CHECK (inbox IN (0, 1)),
  user_id INTEGER,
  UNIQUE (id, tenant),
  FOREIGN KEY (parent, tenant) REFERENCES folder_new (id, tenant)
) STRICT;

CREATE TABLE document_new (
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
  FOREIGN KEY (folder, tenant) REFERENCES folder_new (id, tenant)
) STRICT;

CREATE TABLE annotation_new (
  id       INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES document_new (id) ON DELETE CASCADE,
  page     INTEGER NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('note', 'stamp')),
  title    TEXT NOT NULL,
  text     TEXT NOT NULL,
  date     TEXT NOT NULL,
  creator  TEXT NOT NULL,
  folded_title TEXT NOT NULL,
  folded_text  TEXT NOT NULL
) STRICT;

INSERT INTO folder_new (id, tenant, parent, name, folded, inbox, user_id)
  SELECT id, 1, parent, name, fold(name), inbox, user_id FROM folder ORDER BY id;
INSERT INTO document_new (id, tenant, folder, name, created, archived, pages, size, content_type, keywords,
    metadata, auto_export, digest, types, creator, external_id, source, upload, said, pairs)
  SELECT id, 1, folder, name, created, archived, pages, size, content_type, keywords,
    metadata, auto_export, digest, types, creator, external_id, source, upload,
    char(1) || fold(name) || char(31)
      || coalesce((SELECT group_concat(char(2) || fold(value) || char(31), '') FROM json_each(keywords)), '')
      || coalesce((SELECT group_concat(char(3) || fold(value) || char(31), '') FROM json_each(types)), '')
      || coalesce((SELECT group_concat(char(4) || fold(value ->> 'value') || char(31), '') FROM json_each(metadata)), '')
      || coalesce(char(5) || fold(external_id) || char(31), ''),
    coalesce((SELECT group_concat(char(31) || (value ->> 'key') || char(4) || fold(value ->> 'value') || char(31), '')
      FROM json_each(metadata)), '')
  FROM document ORDER BY id;
INSERT INTO annotation_new SELECT id, document, page, kind, title, text, date, creator, fold(title), fold(text) FROM annotation;

DELETE FROM sqlite_sequence WHERE name IN ('folder_new', 'document_new');
INSERT INTO sqlite_sequence (name, seq)
  SELECT name || '_new', seq FROM sqlite_sequence WHERE name IN ('folder', 'document');

DROP TABLE annotation;
DROP TABLE document;
DROP TABLE folder;
ALTER TABLE folder_new RENAME TO folder;
ALTER TABLE document_new RENAME TO document;
ALTER TABLE annotation_new RENAME TO annotation;

CREATE UNIQUE INDEX folder_child ON folder (parent, name) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX folder_root ON folder (tenant, inbox, name) WHERE parent IS NULL;
CREATE INDEX folder_parent ON folder (parent, inbox);
-- Everything that listing the structure needs, in its order.
CREATE INDEX folder_tenant ON folder (tenant, inbox, id, parent, name, user_id);

CREATE INDEX document_folder ON document (folder, created);
CREATE INDEX document_tenant ON document (tenant, created);
CREATE INDEX document_digest ON document (digest);
CREATE INDEX document_external ON document (external_id, folder) WHERE external_id IS NOT NULL;
CREATE INDEX document_upload ON document (upload) WHERE upload IS NOT NULL;
CREATE INDEX annotation_document ON annotation (document);
