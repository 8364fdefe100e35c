// Package apiclient speaks the archive service's REST interface: the eight operations
// of the specification, and of the further ones those that a deployment may offer for
// content, text, page previews, search, metadata, keywords, renaming, replacing and
// deleting. It answers in the words of package archive; the shapes on the wire stay inside.
//
// # Layers
//
//   - Client has the operations: it checks arguments, makes a request, and reads the answer
//     (folders.go, documents.go, document.go, search.go, content.go, upload.go).
//   - service takes a request and gives an answer of the right kind, and remembers what the
//     deployment lacks (service.go, support.go).
//   - sender sends a request as often as it may be sent, unless a circuit breaker is open
//     (sender.go, breakers.go).
//   - attempt is a request that is sent once (attempt.go, watchdog.go, failure.go).
//
// # Guarantees
//
//   - Every error of an operation is an *archive.Error whose Op names the operation. An
//     ended context is in its chain, so errors.Is(err, context.Canceled) holds.
//   - A change is never blindly repeated. It is sent again only when the service
//     provably did not act on the first one (no connection was made, or it answered
//     429), or when it sets a state (auto-export, keywords, metadata), which makes a
//     second one harmless. Everything that reads is repeated with capped exponential
//     backoff, and Retry-After is honoured.
//   - A circuit breaker opens when no connection was made, nothing was answered, or 503 for as
//     long as a request may be repeated. Then requests fail at once, as unsent, and nothing is
//     sent but a probe now and then. While the service lacks contents alone, 503 to a request
//     for one is not waited for.
//   - A request ends when no byte is sent or received for Config.Stall; a transfer that
//     makes progress may take as long as it needs.
//   - Memory does not grow with the document: uploads stream from an archive.Blob with
//     an exact Content-Length, content streams to the caller. Document lists and
//     structures are decoded element by element.
//   - Content is exactly the service's bytes. A body that ends early is an error, never
//     a silent end of file.
//   - Keys and passwords go to the configured origin only, and appear in no error, log
//     line or printed value.
//   - After five refusals of the credentials in a row requests pause, so that no
//     account is locked.
//   - An operation that the deployment lacks is remembered for ten minutes and answered
//     as archive.KindUnsupported without a request. That one document has no content does
//     not make the operation missing for others.
package apiclient
