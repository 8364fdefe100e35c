// Package gate finds out whose a request is by the credentials that it shows, of those that
// are kept in the database: API keys, and users with passwords.
//
// It guarantees that a key or a user that was revoked, removed or changed, by whatever
// process, is let in for no longer than freshFor; that what is answered, and after how long,
// tells nobody who shows a key which users there are; that passwords are checked a few at a
// time, however many are sent; and that who fails again and again keeps nobody else out.
//
// A key is a random text of 130 bits, so its SHA-256 is kept: no list of likely keys leads
// back from it, which is all that a slower hash could make harder, and it is computed with
// every request. People choose passwords; of them argon2id hashes are kept (RFC 9106).
package gate
