-- Users and API keys. password is a hash, with its parameters; hash is the SHA-256 of a key, in
-- hexadecimal; scopes and mandators are JSON arrays of texts and of ids; a key without mandators is
-- for all of them.
ALTER TABLE tenant ADD COLUMN name TEXT NOT NULL DEFAULT '';

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
CREATE INDEX document_auto_export ON document (tenant) WHERE auto_export;
