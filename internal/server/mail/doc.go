// Package mail reads e-mails (RFC 5322, RFC 2045): what they say, and what is attached. It reads
// from start to end, once, and holds no attachment in memory. It is lenient with what mail
// programs get wrong, and bounded in what strangers may ask of it.
package mail
