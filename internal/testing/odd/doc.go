// Package odd makes files as other programs write them, not as the books say: e-mails, office files, pictures and texts, for the
// tests of what reads them.
package odd
