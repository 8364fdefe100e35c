// Package odd makes files as other programs write them, not as the books say: e-mails, and compound files, for the tests of what reads them.
package odd
