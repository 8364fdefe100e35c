package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
)

// listing is how a document list is asked for.
type listing struct {
	include, exclude []string // metadata keys; empty for all, for none
	autoExport       bool
	hideSizes        bool
	location         *time.Location
}

// element appends a document as an element of GET /document/list:
//
//	{"id": 1, "name": "a.pdf", "num-pages": 1, "creation-date": "2023-11-22T14:14:29",
//	"archiving-date": null, "archiving-user-id": 0, "folder-id": 1, "keywords": ["x"],
//	"external-metadata": [{"key": "k", "value": "v"}], "autoexport-status": false,
//	"content-length": 1, "content-type": "application/pdf"}
//
// The last three can be left out. Lists are long, and going through reflection would take
// most of their time.
func (l listing) element(b []byte, d store.Listed) ([]byte, error) {
	metadata, err := l.metadata(d.Metadata)
	if err != nil {
		return nil, err
	}
	b = strconv.AppendInt(append(b, `{"id":`...), int64(d.ID), 10)
	b = appendText(append(b, `,"name":`...), d.Name)
	b = strconv.AppendInt(append(b, `,"num-pages":`...), int64(d.Pages), 10)
	b = l.date(append(b, `,"creation-date":`...), d.Created)
	b = l.date(append(b, `,"archiving-date":`...), d.Archived)
	b = strconv.AppendInt(append(b, `,"archiving-user-id":`...), d.ArchiverID, 10)
	b = strconv.AppendInt(append(b, `,"folder-id":`...), int64(d.Folder), 10)
	b = append(append(b, `,"keywords":`...), d.Keywords...)
	b = append(append(b, `,"external-metadata":`...), metadata...)
	if l.autoExport {
		b = strconv.AppendBool(append(b, `,"autoexport-status":`...), d.AutoExport)
	}
	if !l.hideSizes {
		b = strconv.AppendInt(append(b, `,"content-length":`...), d.Size, 10)
		b = appendText(append(b, `,"content-type":`...), d.ContentType)
	}
	return append(b, "}\n"...), nil
}

// date appends a time, null for the zero one.
func (l listing) date(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(t.In(l.location).AppendFormat(append(b, '"'), wireTime), '"')
}

// metadata drops the entries that were not asked for; without a choice what is stored is
// passed on.
func (l listing) metadata(stored json.RawMessage) (json.RawMessage, error) {
	if len(l.include) == 0 && len(l.exclude) == 0 {
		return stored, nil
	}
	var pairs []wireKeyValue
	if err := json.Unmarshal(stored, &pairs); err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	chosen := slices.DeleteFunc(pairs, func(pair wireKeyValue) bool {
		return len(l.include) > 0 && !slices.Contains(l.include, pair.Key) || slices.Contains(l.exclude, pair.Key)
	})
	encoded, err := json.Marshal(chosen)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return encoded, nil
}
