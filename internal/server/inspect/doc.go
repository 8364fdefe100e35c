// Package inspect tells what a received content is: its media type and how many pages
// it has. It judges by the bytes; what a client says only decides between kinds of text
// that look alike. It never fails and keeps time and memory bounded: a content that it cannot
// read, or that is too large to be parsed, has one page. Texts and e-mails have the pages that
// package render sets them on.
package inspect
