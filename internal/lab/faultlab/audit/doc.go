// Package audit judges a run of the fault lab: it compares what programs were told with
// what is there when all is mended, mounted again and at rest. It knows no mount and no
// service, so that it can be tested with outcomes that are made up.
//
// # What a program is told
//
// An answer of close, fsync, rename or mkdir counts. ENOTCONN and ECONNABORTED are the
// kernel's words for a mount that has gone, and EIO for one whose process is being killed: no
// answer, and so is the death of the program itself. What nobody was told binds to nothing but rules 2 and 3.
//
// # The rules
//
//  1. Lost: bytes that an answer of close or fsync had accepted are neither in the archive
//     nor kept, as a failed upload with its bytes and a reason. What is never sent is kept as a
//     local file. After a close that was refused the bytes are kept too: a caller that was
//     told "not archived" still has them to retry. That is waived where the disk refused to
//     take them. What is still pending when the service answers and nothing fails any more
//     counts as lost: it would wait for ever. So does an inbox document of which the archive
//     has no content any more, whatever was to replace it.
//  2. Doubled: the archive has a content more often than once, or a folder twice. No answer
//     allows that, since each content is put in by one program. Nor does a person who then has
//     all that failed sent again: before an upload is repeated the archive is looked at, and what
//     nobody can tell any more is not repeated.
//  3. Wrong bytes: the archive has a document whose bytes are not those of a whole file that
//     somebody had begun to close: half of a killed program's file, torn or mixed; or one that
//     was given to the service after its program had removed it. So is a read that succeeded
//     with other bytes. Old bytes of an inbox document are whole as long as no replacement of
//     them was accepted.
//  4. Missing: in sync mode close, rename or mkdir answered 0, and the archive does not have
//     it in the folder and under the name that were meant. That it is kept is no excuse. Or a
//     replacement was answered 0, and the archive has an older content of the document. Or a
//     keyword was set on what is archived, and the archive does not have it.
//  5. Late: an error was answered, and the content was given to the service after that. That
//     it had been given before is no violation: the look for it may have failed. Nor is
//     that it is given after a person retried it; from then on the other rules are the same.
//  6. Unexplained: an upload stays as failed that has lost its record or its bytes, although
//     no program was left without an answer, or could not write, whose file a crash could
//     have cut off: a person could export it at best. Or, in sync mode, one stays as failed
//     although close answered 0 and the archive has it: who retries it makes two. Or one stays
//     that was removed. All are waived where the disk refused something, since what it did not
//     take cannot be known after a restart.
//  7. Left: the archive has a folder under a name or in a place that it had only in its time of
//     grace, or one that was removed in it.
//  8. Early: a file was sent in its time of grace.
//
// Asynchronous writes, times of grace and names that may be working names differ in rule 4 alone:
// accepted means that it is archived in the end (rule 2), in the folder and under the name that were
// meant, or failed with its bytes (rule 1). Where an op got no answer, both outcomes are right.
package audit
