// Package apiclient is a client of the archive service's REST interface: the eight operations
// of the specification, and those for content, text, page previews, search, metadata, keywords,
// renaming, replacing and deleting, which a deployment may lack. It returns types of package
// archive; the types of the wire stay inside.
//
// # Layers
//
//   - Client has the operations: it checks arguments, makes a request, and reads the answer
//     (folders.go, documents.go, document.go, search.go, content.go, upload.go).
//   - service sends a request and decodes the answer, and remembers which operations the
//     deployment lacks (service.go).
//   - sender sends a request, and repeats it if allowed, unless a circuit breaker is open
//     (sender.go, breakers.go).
//   - attempt sends a request once (attempt.go, failure.go).
//
// # Guarantees
//
//   - Every error of an operation is an *archive.Error whose Op is the operation in words. An
//     ended context is in its chain, so errors.Is(err, context.Canceled) holds.
//   - A change is never blindly repeated. It is sent again only when the service
//     provably did not act on the first one (no connection was made, or it answered
//     429), or when it sets a state (auto-export, keywords, metadata), which makes a
//     second one harmless. Everything that reads is repeated with capped exponential
//     backoff, and Retry-After is honoured.
//   - A circuit breaker opens when no connection can be made, or the service does not answer, or
//     answers 503 to every repetition. Then requests fail at once, as unsent, and only probes are
//     sent. While the service lacks only contents, a request for one is not repeated after a 503.
//   - A request that makes no progress ends after Config.Stall; a transfer that makes progress
//     may take as long as it needs.
//   - Memory does not grow with the document: uploads stream from an archive.Blob with
//     an exact Content-Length, content streams to the caller. Document lists and
//     structures are decoded element by element.
//   - Content is exactly the service's bytes. A body that ends early is an error, never
//     a silent end of file.
//   - Keys and passwords go to the configured origin only, and appear in no error, log
//     line or printed value.
//   - After five refusals of the credentials in a row requests pause, so that the service does not
//     lock the account.
//   - An operation that the deployment lacks fails with archive.KindUnsupported, for ten minutes
//     without a request. A single document without content does not make it missing for others.
package apiclient
