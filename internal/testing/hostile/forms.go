package hostile

import "time"

// Presence says how a value is written that an answer may leave out.
type Presence uint8

// The ways to write a value, or not.
const (
	Present Presence = iota
	Null
	Absent
)

// put writes v to o as p says.
func (p Presence) put(o object, key string, v any) {
	switch p {
	case Present:
		o[key] = v
	case Null:
		o[key] = nil
	}
}

// ParentShape says what an archive structure below a parent holds.
type ParentShape uint8

// What an archive structure below a parent holds.
const (
	// ParentChildren: the parent's children.
	ParentChildren ParentShape = iota
	// ParentItself: the parent as only folder, with its children.
	ParentItself
	// ParentAlone: the same, but a lazy answer hides the children of the parent too.
	ParentAlone
)

// Freedom says whether clients may create folders, and how that is told.
type Freedom uint8

// What a structure says about its freedom. Only FreeFalse refuses.
const (
	FreeTrue Freedom = iota
	FreeFalse
	FreeNull
	FreeAbsent
)

// put writes f to o.
func (f Freedom) put(o object, key string) {
	switch f {
	case FreeTrue, FreeFalse:
		o[key] = f == FreeTrue
	case FreeNull:
		o[key] = nil
	}
}

// DateForm is a way to write a date and time.
type DateForm uint8

// The ways to write a date.
const (
	DateUsual    DateForm = iota // DateT in lists, DateBlank in document data
	DateT                        // 2023-11-22T14:14:29
	DateBlank                    // 2023-11-22 14:14:29
	DateFraction                 // 2023-11-22T14:14:29.000
	DateMinute                   // 2023-11-22T14:14
	DateUTC                      // 2023-11-22T14:14:29Z
	DateOffset                   // 2023-11-22T14:14:29+01:00
	DateOnly                     // 2023-11-22
	DateMillis                   // 1700662469000, a number
	DateEmpty                    // ""
	DateNull                     // null
	DateAbsent                   // no field
	DateNonsense                 // "soon"

	dateEnd
)

// DateForms returns every form, for tables of tests.
func DateForms() []DateForm {
	forms := make([]DateForm, dateEnd)
	for i := range forms {
		forms[i] = DateForm(i)
	}
	return forms
}

// put writes t to o in form f, or in the usual form of the answer.
func (f DateForm) put(o object, key string, t time.Time, usual DateForm) {
	if f == DateUsual {
		f = usual
	}
	layouts := map[DateForm]string{
		DateT: "2006-01-02T15:04:05", DateBlank: time.DateTime, DateFraction: "2006-01-02T15:04:05.000",
		DateMinute: "2006-01-02T15:04", DateUTC: "2006-01-02T15:04:05Z",
		DateOnly: time.DateOnly, DateEmpty: "", DateNonsense: "soon",
	}
	switch f {
	case DateAbsent:
	case DateNull:
		o[key] = nil
	case DateOffset:
		o[key] = t.Format("2006-01-02T15:04:05") + "+01:00" // in a layout 01 is the month
	case DateMillis:
		o[key] = t.UnixMilli()
	default:
		o[key] = t.Format(layouts[f])
	}
}

// KeywordForm is a way to write keywords.
type KeywordForm uint8

// The ways to write keywords.
const (
	KeywordArray KeywordForm = iota
	KeywordText              // one string, separated by commas, a comma inside as \,
	KeywordNull
	KeywordAbsent
)

// put writes keywords to o.
func (f KeywordForm) put(o object, keywords []string) {
	switch f {
	case KeywordArray:
		o["keywords"] = append([]string{}, keywords...)
	case KeywordText:
		o["keywords"] = joinWords(keywords)
	case KeywordNull:
		o["keywords"] = nil
	}
}

// MetadataForm is a way to write external metadata.
type MetadataForm uint8

// The ways to write external metadata.
const (
	MetadataArray  MetadataForm = iota // [{"key", "value"}]
	MetadataObject                     // {key: value}
	MetadataNull
	MetadataAbsent
)

// UploadAnswer is the body of a successful upload.
type UploadAnswer uint8

// The bodies of a successful upload.
const (
	UploadText   UploadAnswer = iota // 17, text/plain
	UploadLine                       // 17 and a line end, text/plain
	UploadNumber                     // 17, JSON
	UploadString                     // "17", JSON
	UploadObject                     // {"id": 17}, JSON
	UploadEmpty                      // nothing
	UploadOK                         // OK, text/plain
	UploadJob                        // the number of a job, which no document has
)

// SameExternalID says what a second upload with the same external id does.
type SameExternalID uint8

// What a second upload with the same external id does.
const (
	SameMakesNew  SameExternalID = iota // one more document
	SameKeepsOld                        // nothing; the answer is the old document's id
	SameConflicts                       // 409
)

// Gzip says when bodies are compressed.
type Gzip uint8

// When bodies are compressed.
const (
	GzipNever    Gzip = iota
	GzipAccepted      // when the request accepts it
	GzipAlways        // also when it does not
)

// ETagForm is a way to name a version of a content.
type ETagForm uint8

// The entity tags of a content.
const (
	ETagStrong ETagForm = iota
	ETagWeak
	ETagNone
	ETagChanging // another one with every answer
)

// RangeForm is a way to answer a request for a part.
type RangeForm uint8

// The answers to a request for a part.
const (
	RangeHonoured   RangeForm = iota
	RangeIgnored              // 200 and the whole
	RangeShifted              // 206, the bytes asked for, Content-Range one byte further
	RangeFromStart            // 206, bytes and Content-Range from 0
	RangeWrongTotal           // 206, Content-Range with another total
	RangeUnlabelled           // 206 without Content-Range
	RangeBlind                // If-Range ignored: a part of whatever is there now
	RangeRefused              // 416
)

// ErrorBody is the body of a refusal.
type ErrorBody uint8

// The bodies of a refusal.
const (
	ErrorProblem  ErrorBody = iota // application/problem+json (RFC 9457)
	ErrorMessage                   // {"message": "..."}
	ErrorField                     // {"error": "..."}
	ErrorText                      // text/plain
	ErrorHTML                      // a page
	ErrorEmpty                     // nothing
	ErrorHuge                      // 1 MiB of text
	ErrorControl                   // terminal escapes and bidirectional controls
	ErrorEcho                      // the credentials that the request carried
	ErrorMistyped                  // said to be JSON, but is not
)
