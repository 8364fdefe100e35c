// Package care is for the administrator of an archive: it verifies what the archive keeps,
// copies it, brings a copy back, and counts.
//
// All of it may be done while services use the archive. Verifying changes nothing, and what
// was removed rightly meanwhile is no finding. A backup is the archive as it was at one moment
// after it began: see Backup. What is interrupted is never taken for whole.
package care
