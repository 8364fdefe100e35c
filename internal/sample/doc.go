// Package sample makes a sample office archive and loads it into an archive
// service: two mandators with their folders, some three hundred documents and three
// inboxes with waiting documents.
//
// Every document is a real file of its kind that other programs open: PDFs with text
// and several pages, scanned pages as JPEG, TIFF and PDF, e-mails with attachments,
// workbooks, text. Names hold what an archive's names hold: umlauts, blanks, a slash,
// no extension, more bytes than a file name has, the same name twice in a folder.
//
// The archive is the same on every run, byte by byte: no clock, no random source from
// outside, fixed dates between 2018 and 2026 (in UTC). Persons, companies and accounts
// are invented; mail domains end in .example (RFC 2606). At most one document is in
// memory at a time.
package sample
